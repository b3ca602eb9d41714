// JSON whose numbers stay as they were written. A JavaScript number holds whole numbers up to 2^53 only, and
// identifiers are longer: such a number is kept as what JSON.rawJSON gives, which JSON.stringify writes digit by digit.

const grammar = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** isRaw says whether a value is a number that is kept as text. */
export const isRaw = (value) => JSON.isRawJSON?.(value) ?? false;

/** isObject is true of what JSON calls an object. */
export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value);

/** kind is the JSON type of a value: null, boolean, number, string, array or object. */
export function kind(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isRaw(value) ? 'number' : typeof value;
}

/** digits is the text of a number, null of anything else. */
export function digits(value) {
  if (isRaw(value)) return value.rawJSON;
  return typeof value === 'number' ? JSON.stringify(value) : null;
}

/** number is the value of a text that is a number in JSON; undefined where it is none. */
export function number(text) {
  if (!grammar.test(text)) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && plain(text) === plain(String(value))) return value;
  return JSON.rawJSON ? JSON.rawJSON(text) : value;
}

// plain has digits and exponent of a number only, so that 1.50, 15e-1 and 1.5 are equal.
function plain(text) {
  const [, sign, whole, part = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  let all = (whole + part).replace(/^0+/, '');
  const cut = all.length;
  all = all.replace(/0+$/, '');
  return all ? `${sign}${all}e${Number(power) - part.length + cut - all.length}` : '0';
}

/** parse reads JSON, with every number as it is written. */
export function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    (typeof value === 'number' && context?.source !== undefined ? number(context.source) : value));
}

/** parseText reads a text that is an object or a list in JSON; undefined is any other text. */
export function parseText(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** put sets a member, whatever its name is: an assignment to __proto__ would set no member. */
export function put(object, name, value) {
  Object.defineProperty(object, name, {value, enumerable: true, configurable: true, writable: true});
  return object;
}

/** get is a member of the object itself, or undefined. */
export const get = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

/** same says whether two values are equal in JSON, where the order of members means nothing. */
export function same(a, b) {
  if (a === b) return true;
  const is = kind(a);
  if (is !== kind(b)) return false;
  if (is === 'number') return plain(digits(a)) === plain(digits(b));
  if (is === 'array') return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (is !== 'object') return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}
