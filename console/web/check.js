// What JSON Schema says of a value: draft-07 and 2020-12, as far as a schema of a tool uses it. It is there to help
// whoever fills a form; the server has the last word. So what it cannot decide within its limits it lets pass.
// Not looked at: unevaluatedItems, $dynamicRef, contentSchema, and schemas at other addresses.
import {digits, get, isObject, isRaw, kind, same} from './json.js';

/** A value nested deeper than this is not checked further: each level is a call in the browser's stack. */
export const MAX_DEPTH = 64;
/** Schemas looked at in one check: references can make 2^n of them out of n. 100,000 take some 50 ms. */
export const MAX_STEPS = 100_000;
/** Faults that are reported at once: nobody reads more. */
export const MAX_FAULTS = 100;

/** check gives the faults of a value: [{path, rule, ...what the rule's text names}]. After so many steps all is right. */
export function check(schema, value, root = schema, steps = MAX_STEPS) {
  return faults({root, left: steps}, schema, value, [], 0);
}

/** fits says whether a value has no faults. */
export const fits = (schema, value, root, steps) => check(schema, value, root, steps).length === 0;

/** never says whether no value can fit: false, and what zod writes for it, {"not": {}}. */
export const never = (schema) => schema === false ||
  isObject(schema) && (schema.not === true || isObject(schema.not) && Object.keys(schema.not).length === 0);

const anchors = new WeakMap(); // of a document: what $ref can name in addition to pointers

/** deref finds what $ref names in its document; undefined where there is nothing. */
export function deref(root, ref) {
  if (typeof ref !== 'string') return undefined;
  if (ref === '#' || ref === '') return root;
  if (ref.startsWith('#/')) {
    let at = root;
    for (const part of ref.slice(2).split('/')) {
      let name = part;
      try {
        name = decodeURIComponent(part);
      } catch { /* then it is meant as it stands */ }
      name = name.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
      at = at[name];
    }
    return at;
  }
  if (!isObject(root)) return undefined;
  if (!anchors.has(root)) anchors.set(root, named(root));
  const [address, fragment] = ref.split('#');
  return anchors.get(root).get(ref) ?? (fragment?.startsWith('/') && anchors.get(root).has(address) ? deref(anchors.get(root).get(address), `#${fragment}`) : undefined);
}

function named(root) {
  const found = new Map(), seen = new Set(), next = [root];
  while (next.length > 0 && seen.size < MAX_STEPS) {
    const at = next.pop();
    if (typeof at !== 'object' || at === null || seen.has(at)) continue;
    seen.add(at);
    for (const anchor of [at.$anchor, at.$dynamicAnchor]) if (typeof anchor === 'string') found.set(`#${anchor}`, at);
    for (const id of [at.$id, at.id]) if (typeof id === 'string') found.set(id.replace(/#$/, ''), at).set(id, at);
    next.push(...Object.values(at));
  }
  return found;
}

const formats = {
  date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
  time: /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):?[0-5]\d)$/i,
  'date-time': /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[t ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):?[0-5]\d)$/i,
  email: /^[^\s@]+@[^\s@]+$/,
  uri: /^[a-z][a-z0-9+.-]*:[^\s]+$/i,
  uuid: /^(urn:uuid:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/,
  ipv6: /^[0-9a-f:.]*:[0-9a-f:.]*$/i,
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
};

/**
 * matches says whether a text has a match of a pattern; undefined where that is not decided. A pattern comes from a
 * server, and one such as (a+)+$ can keep the browser busy for years: where repetitions are repeated a step is
 * thought to multiply the work for each character, and else each repetition for all of them. A million takes some 10 ms.
 */
export function matches(pattern, text, run = {left: MAX_STEPS}) {
  const regexp = compile(pattern);
  if (!regexp) return undefined;
  const bare = pattern.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x');
  const repeats = (bare.match(/[*+?]|\{\d+,\d*\}/g) ?? []).length, choices = (bare.match(/\|/g) ?? []).length;
  const places = Math.min(choices, 1 + (bare.match(/\(/g) ?? []).length);
  const work = /\)([*+]|\{\d+,?\d*\})/.test(bare) ? (1 + repeats + choices) ** text.length :
    Math.max(1, text.length) ** Math.max(1, repeats) * (1 + choices / Math.max(1, places)) ** places;
  if (work > 1e6) return undefined;
  run.left -= work / 1000;
  return run.left > 0 ? regexp.test(text) : undefined;
}

/** compile makes a regular expression of a pattern; null where it is none. */
export function compile(pattern) {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags);
    } catch { /* many are written for other engines */ }
  }
  return null;
}

const types = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

/** hasType says whether a value has a JSON Schema type; what is no such type is no rule. */
export function hasType(value, type) {
  if (!types.has(type)) return true;
  if (type === 'integer') return isRaw(value) ? Number.isInteger(Number(value.rawJSON)) : Number.isInteger(value);
  return kind(value) === type;
}

const list = (value) => (Array.isArray(value) ? value : []);
const pairs = (value) => (isObject(value) ? Object.entries(value) : []);
const length = (text) => [...text].length; // in characters, as JSON Schema counts

function faults(run, schema, value, path, depth) {
  if (schema === false) return [{path, rule: 'never'}];
  if (!isObject(schema) || depth > MAX_DEPTH || (run.left -= 1 + (list(schema.enum).length + list(schema.required).length) / 8) < 0) return [];
  if (value === undefined) return [{path, rule: 'required'}];
  const found = [];
  const fault = (rule, more) => found.push({path, rule, ...more});
  const all = (more) => more.slice(0, MAX_FAULTS - found.length).forEach((one) => found.push(one));
  const within = (sub, at = value, to = path) => faults(run, sub, at, to, depth + 1);
  const ok = (sub, at) => within(sub, at).length === 0;

  if (value === null && schema.nullable === true) return []; // OpenAPI's word, which tools made of its documents have
  if (schema.type !== undefined && !list([schema.type].flat()).some((type) => hasType(value, type))) return [{path, rule: 'type', type: [schema.type].flat().join(', ')}];
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(one, value))) fault('enum');
  if (Object.hasOwn(schema, 'const') && !same(schema.const, value)) fault('const', {value: JSON.stringify(schema.const)});
  switch (kind(value)) {
    case 'string': texts(run, schema, value, fault); break;
    case 'number': numbers(schema, value, fault); break;
    case 'array': items(schema, value, path, fault, within, ok, all); break;
    case 'object': members(run, schema, value, path, fault, within, ok, all); break;
  }
  if (schema.$ref !== undefined) all(within(deref(run.root, schema.$ref)));
  for (const sub of list(schema.allOf)) all(within(sub));
  for (const name of ['anyOf', 'oneOf']) {
    if (!Array.isArray(schema[name])) continue;
    const each = schema[name].map((sub) => within(sub));
    const good = each.filter((one) => one.length === 0).length;
    if (good === 0) all(closest(each, path));
    else if (name === 'oneOf' && good > 1) fault('one', {n: good});
  }
  if (schema.not !== undefined && ok(schema.not)) fault('not');
  if (schema.if !== undefined) all(within(ok(schema.if) ? schema.then : schema.else));
  return found;
}

// closest are the faults of the branch that was likely meant: one of the right type, with the right constants.
function closest(all, path) {
  const far = (one) => one.reduce((sum, f) => sum + (f.path.length === path.length && f.rule !== 'required' || f.rule === 'const' ? 1000 : 1), 0);
  return all.reduce((best, one) => (far(one) < far(best) ? one : best), all[0] ?? []);
}

function texts(run, schema, value, fault) {
  if (schema.minLength > length(value)) fault('minLength', {n: schema.minLength});
  if (schema.maxLength < length(value)) fault('maxLength', {n: schema.maxLength});
  if (typeof schema.pattern === 'string' && matches(schema.pattern, value, run) === false) fault('pattern', {pattern: schema.pattern});
  const format = typeof schema.format === 'string' ? get(formats, schema.format) : undefined;
  if (format && value.length < 10_000 && !format.test(value)) fault('format', {format: schema.format});
}

function numbers(schema, value, fault) {
  const n = Number(digits(value));
  const {minimum, maximum, exclusiveMinimum: over, exclusiveMaximum: under, multipleOf: step} = schema;
  const bound = (limit) => Number(digits(limit) ?? NaN); // draft-04 has true and false where later ones have a number
  if (n < bound(minimum) || over === true && n === bound(minimum)) fault('minimum', {n: digits(minimum)});
  if (n > bound(maximum) || under === true && n === bound(maximum)) fault('maximum', {n: digits(maximum)});
  if (n <= bound(over)) fault('over', {n: digits(over)});
  if (n >= bound(under)) fault('under', {n: digits(under)});
  const times = n / bound(step);
  if (bound(step) > 0 && Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))) fault('multipleOf', {n: digits(step)});
}

function items(schema, value, path, fault, within, ok, all) {
  const first = Array.isArray(schema.items) ? schema.items : list(schema.prefixItems);
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  if (schema.minItems > value.length) fault('minItems', {n: schema.minItems});
  if (schema.maxItems < value.length) fault('maxItems', {n: schema.maxItems});
  value.forEach((item, i) => {
    const sub = i < first.length ? first[i] : rest;
    all(item === undefined ? [{path: [...path, i], rule: 'required'}] : within(sub ?? {}, item, [...path, i]));
  });
  if (schema.uniqueItems === true) {
    const seen = new Set();
    for (const [i, item] of value.entries()) {
      const text = sorted(item);
      if (seen.has(text)) {
        all([{path: [...path, i], rule: 'unique'}]);
        break;
      }
      seen.add(text);
    }
  }
  if (schema.contains !== undefined) {
    const n = value.filter((item) => ok(schema.contains, item)).length;
    if (n < (schema.minContains ?? 1) || n > schema.maxContains) fault('contains');
  }
}

// sorted is a text that equal values share.
function sorted(value) {
  return JSON.stringify(value, (_, v) => (isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v)) ?? '';
}

function members(run, schema, value, path, fault, within, ok, all) {
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  for (const name of list(schema.required)) if (get(value, name) === undefined) all([{path: [...path, name], rule: 'required'}]);
  if (schema.minProperties > names.length) fault('minProperties', {n: schema.minProperties});
  if (schema.maxProperties < names.length) fault('maxProperties', {n: schema.maxProperties});
  for (const name of names) {
    const subs = subschemas(schema, name, run);
    const known = subs.length > 0;
    if (!known && schema.additionalProperties !== undefined) subs.push(schema.additionalProperties);
    for (const sub of subs) {
      if (sub === false || !known && never(sub)) all([{path: [...path, name], rule: 'unknown'}]);
      else all(within(sub, value[name], [...path, name]));
    }
    if (schema.propertyNames !== undefined && !ok(schema.propertyNames, name)) all([{path: [...path, name], rule: 'name'}]);
  }
  for (const [name, more] of [...pairs(schema.dependentRequired), ...pairs(schema.dependencies)]) {
    if (get(value, name) === undefined) continue;
    for (const other of list(more)) if (get(value, other) === undefined) all([{path: [...path, other], rule: 'required'}]);
  }
  for (const [name, more] of [...pairs(schema.dependentSchemas), ...pairs(schema.dependencies)]) {
    if (get(value, name) !== undefined && !Array.isArray(more)) all(within(more));
  }
  if (schema.unevaluatedProperties !== undefined) {
    const seen = evaluated(run, schema, value, 0);
    for (const name of names) {
      if (seen.has(name)) continue;
      if (schema.unevaluatedProperties === false) all([{path: [...path, name], rule: 'unknown'}]);
      else all(within(schema.unevaluatedProperties, value[name], [...path, name]));
    }
  }
}

/** subschemas are those that properties and patternProperties have for a member. */
export function subschemas(schema, name, run) {
  const subs = isObject(schema.properties) && Object.hasOwn(schema.properties, name) ? [schema.properties[name]] : [];
  for (const [pattern, sub] of pairs(schema.patternProperties)) if (matches(pattern, name, run)) subs.push(sub);
  return subs;
}

// evaluated are the members of a value that some part of a schema says something of.
function evaluated(run, schema, value, depth) {
  const names = new Set();
  if (!isObject(schema) || depth > MAX_DEPTH || --run.left < 0) return names;
  for (const name of Object.keys(value)) {
    if (schema.additionalProperties !== undefined || depth > 0 && schema.unevaluatedProperties !== undefined || subschemas(schema, name).length > 0) names.add(name);
  }
  const ok = (sub) => faults(run, sub, value, [], depth + 1).length === 0;
  const parts = [schema.$ref === undefined ? undefined : deref(run.root, schema.$ref), ...list(schema.allOf),
    ...[...list(schema.anyOf), ...list(schema.oneOf)].filter(ok),
    ...pairs(schema.dependentSchemas).filter(([name]) => Object.hasOwn(value, name)).map(([, sub]) => sub)];
  if (schema.if !== undefined) parts.push(...(ok(schema.if) ? [schema.if, schema.then] : [schema.else]));
  for (const part of parts) for (const name of evaluated(run, part, value, depth + 1)) names.add(name);
  return names;
}
