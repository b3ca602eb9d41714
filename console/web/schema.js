// What a form has to show for a schema: the schema with its references and its parts put together.
import {MAX_STEPS, check, deref, fits, hasType, never, subschemas} from './check.js';
import {get, isObject, kind, put} from './json.js';

/** Schemas that are put together into one: a chain of references that is longer is no one's work by hand. */
export const MAX_MERGED = 200;
/** Objects within objects that are filled in unasked: a schema may require itself, and then has no end. */
export const MAX_EAGER = 6;
/** Branches of oneOf and anyOf that can be chosen from. */
export const MAX_CHOICES = 200;
/** Members that are filled in unasked, in all: a schema that requires itself ten times would have ten to the sixth. */
export const MAX_BEGUN = 40;
/** Steps to find out whether an if applies: it looks at a member or two, and there may be hundreds of them. */
const MAX_IF_STEPS = 1000;

const allTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'];
const hints = { // what a schema is about that says no type
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties', 'propertyNames', 'dependentRequired'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  string: ['pattern', 'minLength', 'maxLength', 'format', 'contentEncoding', 'contentMediaType'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};
const first = ['title', 'description', 'default', 'examples', 'example', 'format', 'pattern', 'contentEncoding', 'contentMediaType', 'deprecated',
  'readOnly', 'multipleOf', 'uniqueItems', 'contains', 'additionalProperties', 'propertyNames', 'enumNames', 'minContains', 'unevaluatedProperties'];
const largest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const smallest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/**
 * flatten puts together what a schema, its $ref, allOf, and what applies to a value now (if, dependentSchemas) say.
 * The result has types (without null, which is nullable), properties and titles as Maps, required as a Set, choices as
 * a list of lists of schemas, never where nothing fits, and moving where another value may give another result.
 */
export function flatten(schema, root, value) {
  const flat = {types: null, nullable: false, properties: new Map(), required: new Set(), patterns: [], choices: [], titles: new Map(), hinted: new Set()};
  const seen = new Set();
  const add = (part) => {
    if (never(part)) flat.never = true;
    if (!isObject(part) || seen.has(part) || seen.size >= MAX_MERGED) return;
    seen.add(part);
    narrow(flat, part);
    for (const name of first) if (part[name] !== undefined && (flat[name] === undefined || name === 'additionalProperties' && never(part[name]))) flat[name] = part[name];
    for (const name of largest) if (typeof part[name] === 'number') flat[name] = Math.max(part[name], flat[name] ?? -Infinity);
    for (const name of smallest) if (typeof part[name] === 'number') flat[name] = Math.min(part[name], flat[name] ?? Infinity);
    for (const [name, sub] of Object.entries(isObject(part.properties) ? part.properties : {})) {
      const known = flat.properties.get(name);
      flat.properties.set(name, known === undefined || known === sub ? sub : {allOf: [known, sub]});
    }
    for (const name of Array.isArray(part.required) ? part.required : []) if (typeof name === 'string') flat.required.add(name);
    if (isObject(part.patternProperties)) flat.patterns.push(part);
    const tuple = Array.isArray(part.items) ? part.items : part.prefixItems, rest = Array.isArray(part.items) ? part.additionalItems : part.items;
    if (Array.isArray(tuple)) flat.tuple ??= tuple;
    if (rest !== undefined) flat.items = flat.items === undefined || flat.items === rest ? rest : {allOf: [flat.items, rest]};
    if (part.$ref !== undefined) add(deref(root, part.$ref));
    for (const sub of Array.isArray(part.allOf) ? part.allOf : []) add(sub);
    if (part.if !== undefined) {
      flat.moving = true;
      add(value !== undefined && fits(part.if, value, root, MAX_IF_STEPS) ? part.then : part.else);
    }
    for (const name of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      for (const [other, more] of Object.entries(isObject(part[name]) ? part[name] : {})) {
        flat.moving = true;
        if (!isObject(value) || get(value, other) === undefined) continue;
        if (Array.isArray(more)) more.forEach((one) => flat.required.add(one));
        else add(more);
      }
    }
    for (const name of ['oneOf', 'anyOf']) if (Array.isArray(part[name])) branches(flat, part[name], root, add);
  };
  add(schema);
  if (flat.types?.length === 0 && !flat.nullable) flat.never = true;
  return flat;
}

// narrow takes over which types and which values may be.
function narrow(flat, part) {
  for (const [type, words] of Object.entries(hints)) if (words.some((word) => part[word] !== undefined)) flat.hinted.add(type);
  if (part.nullable === true) flat.nullable = true;
  const known = [part.type].flat().filter((type) => type === 'integer' || allTypes.includes(type));
  if (known.length > 0) {
    if (known.includes('null')) flat.nullable = true;
    const own = known.filter((type) => type !== 'null' && !(type === 'integer' && known.includes('number')));
    flat.types = flat.types === null ? own : own.flatMap((type) => {
      if (flat.types.includes(type)) return [type];
      return type === 'integer' && flat.types.includes('number') || type === 'number' && flat.types.includes('integer') ? ['integer'] : [];
    });
  }
  const values = Object.hasOwn(part, 'const') ? [part.const] : part.enum;
  if (!Array.isArray(values)) return;
  if (values.includes(null)) flat.nullable = true;
  const plain = values.filter((one) => one !== null);
  flat.enum = flat.enum ? plain.filter((one) => check({enum: flat.enum}, one).length === 0) : plain;
  const names = part.enumNames ?? part['x-enumNames'];
  if (Array.isArray(names)) values.forEach((one, i) => typeof names[i] === 'string' && flat.titles.set(JSON.stringify(one), names[i]));
}

// branches takes over a oneOf or anyOf: null and titled constants are no choice between forms, one branch is none either.
function branches(flat, list, root, add) {
  const left = [];
  for (const branch of list) {
    if (never(branch)) continue;
    if (isObject(branch) && (branch.type === 'null' || branch.const === null)) flat.nullable = true;
    else if (left.length < MAX_CHOICES) left.push(branch);
  }
  if (left.length === 0) {
    if (!flat.nullable) flat.never = true;
    else flat.types = [];
  } else if (left.length === 1) {
    add(left[0]);
  } else if (left.every((one) => isObject(one) && Object.hasOwn(one, 'const') && typeof one.const !== 'object')) {
    for (const one of left) if (typeof one.title === 'string') flat.titles.set(JSON.stringify(one.const), one.title);
    narrow(flat, {enum: left.map((one) => one.const)});
  } else {
    flat.choices.push(left);
  }
}

/**
 * variants are the kinds of form that a schema can have, each a schema with one branch chosen or with one type:
 * [{schema, label}]. A label is a text of the schema; null where it has none.
 */
export function variants(schema, flat, root) {
  if (flat.enum || flat.never) return [];
  if (flat.choices.length > 0) {
    const chosen = flat.choices[0];
    return chosen.map((branch, i) => {
      const one = flatten(branch, root);
      return {schema: without(schema, chosen, branch, root), label: name(one) ?? null, only: one.required, number: i + 1};
    });
  }
  const of = flat.types ?? (flat.hinted.size > 0 ? [...flat.hinted] : allTypes.slice(0, 5));
  return of.length > 1 ? of.map((type) => ({schema: {allOf: [schema, {type}]}, label: null, type})) : [];
}

// name is how a branch is called: by its title, by what it is constant in, or by where it comes from.
function name(flat) {
  if (typeof flat.title === 'string' && flat.title) return flat.title;
  for (const [key, sub] of flat.properties) {
    if (flat.required.has(key) && isObject(sub) && (Object.hasOwn(sub, 'const') || sub.enum?.length === 1)) return String(sub.const ?? sub.enum?.[0]);
  }
  if (flat.enum) return flat.enum.slice(0, 3).map(String).join(', ');
  return undefined;
}

// without is a schema in which one of its choices is made: the list of branches is looked for by identity.
function without(schema, chosen, branch, root, depth = 0) {
  if (!isObject(schema) || depth > MAX_EAGER * 4) return schema;
  for (const key of ['oneOf', 'anyOf']) {
    if (!Array.isArray(schema[key])) continue;
    const left = schema[key].filter((one) => !never(one) && !(isObject(one) && (one.type === 'null' || one.const === null))).slice(0, MAX_CHOICES);
    if (left.length === chosen.length && left.every((one, i) => one === chosen[i])) {
      const {[key]: _, ...rest} = schema;
      return {...rest, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), branch]};
    }
    if (left.length === 1) {
      const inner = without(left[0], chosen, branch, root, depth + 1);
      if (inner !== left[0]) return {...schema, [key]: [inner, ...schema[key].filter((one) => !left.includes(one))]};
    }
  }
  if (schema.$ref !== undefined) {
    const target = deref(root, schema.$ref), inner = without(target, chosen, branch, root, depth + 1);
    if (inner !== target) {
      const {$ref: _, ...rest} = schema;
      return {...rest, allOf: [inner, ...(Array.isArray(schema.allOf) ? schema.allOf : [])]};
    }
  }
  for (const [i, part] of (Array.isArray(schema.allOf) ? schema.allOf : []).entries()) {
    const inner = without(part, chosen, branch, root, depth + 1);
    if (inner !== part) return {...schema, allOf: schema.allOf.with(i, inner)};
  }
  for (const key of ['then', 'else']) {
    const inner = without(schema[key], chosen, branch, root, depth + 1);
    if (inner !== schema[key]) return {...schema, [key]: inner};
  }
  return schema;
}

/** pick is the variant that a value has: one that it fits, else the nearest of its type. */
export function pick(all, value, root) {
  if (value === undefined) return 0;
  let best = 0, least = Infinity;
  for (const [i, one] of all.entries()) {
    const faults = check(one.schema, value, root, MAX_STEPS / all.length);
    const weight = faults.reduce((sum, f) => sum + (f.path.length === 0 && f.rule === 'type' ? 1000 : f.rule === 'const' ? 100 : 1), 0);
    if (weight < least) [best, least] = [i, weight];
    if (weight === 0) break;
  }
  return best;
}

/** only is the one type of a schema that is not a choice; null where a value is of none (null alone, or nothing). */
export function only(flat) {
  return flat.types ? flat.types[0] ?? null : [...flat.hinted][0] ?? null;
}

/** member is the schema of a member of an object. */
export function member(flat, key) {
  const subs = [...(flat.properties.has(key) ? [flat.properties.get(key)] : []), ...flat.patterns.flatMap((part) => subschemas({patternProperties: part.patternProperties}, key))];
  if (subs.length > 1) return {allOf: subs};
  return subs[0] ?? flat.additionalProperties ?? true;
}

/** open says whether an object may have members with names that the schema does not have, and says what they are. */
export function open(flat) {
  return flat.patterns.length > 0 || flat.additionalProperties !== undefined && !never(flat.additionalProperties) ||
    flat.additionalProperties === undefined && (flat.properties.size === 0 || flat.minProperties > flat.properties.size) && flat.unevaluatedProperties !== false;
}

/** start is the value that something has when it comes to be: what it must have and can have only one way. */
export function start(schema, root, depth = 0, run = {left: MAX_BEGUN}) {
  const flat = flatten(schema, root);
  if (flat.default !== undefined) return flat.default;
  if (flat.enum?.length === 1 && !flat.nullable) return flat.enum[0];
  if (flat.enum || flat.never || depth > MAX_EAGER || --run.left < 0) return undefined;
  if (flat.types?.length === 0 && flat.nullable) return null;
  const all = variants(schema, flat, root);
  if (all.length > 0) return start(all[0].schema, root, depth + 1, run);
  if (only(flat) === 'array') return flat.tuple ? Array.from({length: Math.min(flat.tuple.length, flat.maxItems ?? Infinity, MAX_BEGUN)}, (_, i) => start(flat.tuple[i], root, depth + 1, run)) : [];
  if (only(flat) !== 'object') return undefined;
  const value = {};
  for (const key of flat.required) {
    if (run.left <= 0) break;
    const inner = start(member(flat, key), root, depth + 1, run);
    if (inner !== undefined) put(value, key, inner);
  }
  return value;
}

/** filled is a value with the defaults of the members that it has not, as the questions of a server have them. */
export function filled(schema, root, value) {
  const flat = flatten(schema, root, value);
  const all = isObject(value) ? {...value} : {};
  for (const [key, sub] of flat.properties) {
    const is = flatten(sub, root).default;
    if (is !== undefined && get(all, key) === undefined) put(all, key, is);
  }
  return all;
}

/** ofPrompt is the schema of the arguments of a prompt: texts, with names and descriptions. */
export function ofPrompt(args) {
  const schema = {type: 'object', properties: {}, required: [], additionalProperties: false};
  for (const one of Array.isArray(args) ? args : []) {
    if (typeof one?.name !== 'string') continue;
    put(schema.properties, one.name, {type: 'string', title: one.title, description: one.description});
    if (one.required === true) schema.required.push(one.name);
  }
  return schema;
}

/** shows says whether a field of the type of a schema can show a value. */
export function shows(type, value) {
  return value === undefined || hasType(value, type) || (type === 'number' || type === 'integer') && ['number', 'string'].includes(kind(value));
}
