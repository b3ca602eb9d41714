// Values that fit a schema, as examples and for tests.
import {compile, fits} from './check.js';
import {get, isObject, put} from './json.js';
import {flatten, member, only, open, variants} from './schema.js';

/** Objects within objects that get members which they could do without. */
const MAX_FULL = 3;
/** Where values end that need further ones, as a list that always has a next. */
const MAX_DEPTH = 12;
/** Milliseconds for one try at an example, of three; branches within branches would have no end otherwise. */
const MAX_TIME = 300;
/** Longest list and longest text that are made up. */
const MAX_LENGTH = 10_000;

/** sample is a value that fits, with all optional members where that is possible; undefined where none was found. */
export function sample(schema, root = schema) {
  for (const full of [MAX_FULL, 1, 0]) {
    const value = make({root, full, until: performance.now() + MAX_TIME}, schema, 0, 0);
    if (value !== undefined && fits(schema, value, root)) return value;
  }
  return undefined;
}

// make tries one value; another seed gives another one where there are several.
function make(run, schema, depth, seed) {
  if (depth > MAX_DEPTH || performance.now() > run.until) return undefined;
  const flat = flatten(schema, run.root);
  if (flat.never) return undefined;
  const good = (value) => value !== undefined && fits(schema, value, run.root);
  if (flat.enum) return [...flat.enum.slice(seed), ...flat.enum, ...(flat.nullable ? [null] : [])].find(good);
  if (seed === 0) {
    const given = [...(Array.isArray(flat.examples) ? flat.examples : []), flat.example, flat.default].find((one) => one !== null && good(one));
    if (given !== undefined) return given;
  }
  const all = variants(schema, flat, run.root);
  for (const one of all) {
    const value = make(run, one.schema, depth + 1, seed);
    if (good(value)) return value;
  }
  if (all.length > 0) return flat.nullable ? null : undefined;
  switch (only(flat)) {
    case 'object': return object(run, schema, flat, depth, good);
    case 'array': return array(run, flat, depth, seed);
    case 'string': return string(flat, seed, good);
    case 'number': case 'integer': return numeric(flat, seed, good);
    case 'boolean': return seed % 2 === 0;
    default: return flat.nullable && flat.types?.length === 0 ? null : 'example';
  }
}

function object(run, schema, flat, depth, good) {
  const value = {}, tried = new Set();
  // What is there may ask for more (if, dependentRequired): it is looked at again until nothing is new.
  for (let more = true, round = 0; more && round < 5; round++) {
    more = false;
    const now = flatten(schema, run.root, value);
    for (const key of [...now.required, ...(depth < run.full ? now.properties.keys() : [])]) {
      if (tried.has(key)) continue;
      tried.add(key);
      const inner = make(run, member(now, key), depth + 1, 0);
      if (inner !== undefined) more = Boolean(put(value, key, inner));
    }
  }
  const wanted = Math.max(flat.minProperties ?? 0, depth < run.full && flat.properties.size === 0 && open(flat) ? 1 : 0);
  for (let i = 0; Object.keys(value).length < Math.min(wanted, MAX_LENGTH) && i < wanted * 2; i++) {
    const key = name(run, flat, i), inner = make(run, member(flat, key), depth + 1, 0);
    if (inner !== undefined && get(value, key) === undefined) put(value, key, inner);
  }
  // Members that exclude each other: one after the other goes, as long as what is left does not fit.
  for (const key of depth < run.full && !good(value) ? Object.keys(value) : []) {
    if (flat.required.has(key)) continue;
    const {[key]: was, ...rest} = value;
    if (good(rest)) return rest;
  }
  return value;
}

function name(run, flat, i) {
  const pattern = flat.patterns.flatMap((part) => Object.keys(part.patternProperties))[0];
  if (pattern !== undefined) return text(pattern, i) ?? `key${i || ''}`;
  if (isObject(flat.propertyNames)) return make(run, {type: 'string', allOf: [flat.propertyNames]}, MAX_DEPTH - 1, i) ?? 'key';
  return `key${i || ''}`;
}

function array(run, flat, depth, seed) {
  const value = [], least = Math.max(flat.minItems ?? 0, flat.contains === undefined ? 0 : flat.minContains ?? 1);
  const length = Math.min(Math.max(least, flat.tuple?.length ?? 0, depth <= run.full ? 1 : 0), flat.maxItems ?? Infinity, MAX_LENGTH);
  for (let i = 0; i < length; i++) {
    const schema = flat.contains !== undefined && i < (flat.minContains ?? 1) ? {allOf: [flat.contains, flat.tuple?.[i] ?? flat.items ?? true]} : flat.tuple?.[i] ?? flat.items ?? true;
    const item = make(run, schema, depth + 1, flat.uniqueItems || flat.contains !== undefined ? seed + i : seed);
    if (item === undefined) return i >= least ? value : undefined;
    value.push(item);
  }
  return value;
}

function numeric(flat, seed, good) {
  const step = flat.multipleOf > 0 ? flat.multipleOf : 1;
  const from = Math.max(flat.minimum ?? -Infinity, flat.exclusiveMinimum ?? -Infinity), to = Math.min(flat.maximum ?? Infinity, flat.exclusiveMaximum ?? Infinity);
  const near = Number.isFinite(from) ? from : Number.isFinite(to) && to < 1 ? to : 1;
  const base = Math.ceil(near / step) * step;
  return [base + seed * step, base + step * (seed + 1), base - step * (seed + 1), near, (from + to) / 2].find((n) => Number.isFinite(n) && good(n));
}

const known = {
  date: '2026-01-31', time: '12:30:00Z', 'date-time': '2026-01-31T12:30:00Z', duration: 'P1D', email: 'someone@example.com', 'idn-email': 'someone@example.com',
  hostname: 'example.com', 'idn-hostname': 'example.com', ipv4: '192.0.2.1', ipv6: '2001:db8::1', uri: 'https://example.com/', iri: 'https://example.com/',
  url: 'https://example.com/', 'uri-reference': '/example', 'uri-template': '/{name}', 'json-pointer': '/name', 'relative-json-pointer': '0', regex: '^a$',
  uuid: '123e4567-e89b-12d3-a456-426614174000', byte: 'ZXhhbXBsZQ==', binary: 'ZXhhbXBsZQ==',
};

function string(flat, seed, good) {
  const most = Math.min(flat.maxLength ?? MAX_LENGTH, MAX_LENGTH);
  const fit = (one) => (one.length < (flat.minLength ?? 0) ? one.padEnd(Math.min(flat.minLength, MAX_LENGTH), 'x') : one.slice(0, most));
  const tries = [];
  const formatted = get(known, String(flat.format));
  if (formatted !== undefined) tries.push(seed === 0 ? formatted : formatted.replace(/\d(?=\D*$)|(?<=someone|example)/, seed % 10), formatted);
  if (typeof flat.pattern === 'string') for (let more = 0; more < 40; more++) tries.push(text(flat.pattern, seed, more) ?? '');
  tries.push(fit(`example${seed || ''}`), fit(''));
  return tries.find(good);
}

/** text makes one that matches a pattern: each repetition happens as often as it must, and more times more often. */
function text(pattern, seed, more = 0) {
  if (!compile(pattern)) return undefined;
  let at = 0, left = MAX_LENGTH;
  const eat = (token) => pattern.startsWith(token, at) && (at += token.length) > 0;
  function choice(depth) {
    const all = [sequence(depth)];
    while (eat('|')) all.push(sequence(depth));
    return all[seed % all.length];
  }
  function sequence(depth) {
    let all = '';
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
      const one = atom(depth);
      const [, low, , high] = /^\{(\d+)(,(\d*))?\}/.exec(pattern.slice(at)) ?? [];
      let times = 1;
      if (low !== undefined) {
        at = pattern.indexOf('}', at) + 1;
        times = high === undefined && !pattern.slice(0, at).endsWith(',}') ? Number(low) : Math.min(Number(low) + more, high ? Number(high) : Infinity);
      } else if (eat('*')) times = more;
      else if (eat('+')) times = 1 + more;
      else if (eat('?')) times = more > 0 ? 1 : 0;
      if (low !== undefined || '*+?'.includes(pattern[at - 1])) eat('?');
      times = Math.min(times, MAX_LENGTH);
      if ((left -= times * one.length) > 0) all += one.repeat(times);
    }
    return all;
  }
  function atom(depth) {
    if (depth > 50) return '';
    if (eat('^') || eat('$') || eat('\\b') || eat('\\B')) return '';
    if (eat('(')) {
      const look = eat('?=') || eat('?!') || eat('?<=') || eat('?<!');
      if (!look && pattern[at] === '?') at = eat('?:') ? at : pattern.indexOf('>', at) + 1;
      const inner = choice(depth + 1);
      eat(')');
      return look ? '' : inner;
    }
    if (pattern[at] === '[') return set();
    if (pattern[at] === '\\') return escape();
    return eat('.') ? 'a' : pattern[at++];
  }
  function set() {
    const begin = at++;
    const except = eat('^');
    while (at < pattern.length && (pattern[at] !== ']' || at === begin + 1 && !except)) at += pattern[at] === '\\' ? 2 : 1;
    const one = compile(pattern.slice(begin, ++at));
    const all = [...'a1Az0-_ ./:'].concat(Array.from({length: 95}, (_, i) => String.fromCharCode(32 + i))).filter((c) => one?.test(c));
    return all[seed % (all.length || 1)] ?? pattern[begin + 1];
  }
  function escape() {
    const [whole] = /^\\(u\{[^}]*\}|[pP]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)/s.exec(pattern.slice(at)) ?? ['\\'];
    at += Math.max(1, whole.length);
    const one = compile(whole);
    const all = [...'1a _-.', whole[1] ?? ''].concat(Array.from({length: 95}, (_, i) => String.fromCharCode(32 + i)), '\n', '\t').filter((c) => one?.test(c));
    return all[seed % (all.length || 1)] ?? '';
  }
  return choice(0);
}
