// What a schema means for a form and for a value; the forms themselves are tested in a browser, by integration/.
import test from 'node:test';
import assert from 'node:assert/strict';
import {check, deref, fits, matches} from './check.js';
import {isObject, kind, number, parse, parseText, put, same} from './json.js';
import {filled, flatten, member, ofPrompt, open, pick, start, variants} from './schema.js';
import {sample} from './sample.js';

const rules = (schema, value) => check(schema, value).map((one) => `${one.path.join('.')} ${one.rule}`.trim());

test('values are refused for the rule that they break, at the place where they break it', () => {
  const cases = [
    [{type: 'string'}, 5, ['type']],
    [{type: ['string', 'null']}, null, []],
    [{type: 'integer'}, 1.0, []],
    [{type: 'integer'}, 1.5, ['type']],
    [{type: 'money'}, 5, []], // no type: the server knows what it means
    [{type: 'string', nullable: true}, null, []],
    [{enum: [{a: 1, b: 2}]}, {b: 2, a: 1}, []],
    [{enum: [1]}, '1', ['enum']],
    [{const: null}, 0, ['const']],
    [{minLength: 2, maxLength: 3}, '👩👩👩👩', ['maxLength']],
    [{minLength: 2}, '👩', ['minLength']],
    [{pattern: 'b+$'}, 'abb', []],
    [{pattern: '^b'}, 'abb', ['pattern']],
    [{format: 'date'}, '2026-13-01', ['format']],
    [{format: 'unheard-of'}, 'x', []],
    [{minimum: 3, exclusiveMinimum: true}, 3, ['minimum']], // draft-04
    [{exclusiveMinimum: 3}, 3, ['over']],
    [{multipleOf: 0.1}, 0.3, []],
    [{multipleOf: 7}, 15, ['multipleOf']],
    [{items: {type: 'integer'}}, [1, 'a'], ['1 type']],
    [{prefixItems: [{type: 'string'}], items: false}, ['a', 1], ['1 never']],
    [{items: [{type: 'string'}], additionalItems: {type: 'null'}}, ['a', 1], ['1 type']],
    [{items: {type: 'string'}}, ['a', undefined], ['1 required']], // added in a form, and not filled in
    [{uniqueItems: true}, [{a: 1, b: [2]}, {b: [2], a: 1}], ['1 unique']],
    [{contains: {const: 5}, minContains: 2}, [5, 4], ['contains']],
    [{required: ['constructor', '__proto__']}, {}, ['constructor required', '__proto__ required']],
    [{properties: {a: {type: 'object', required: ['b']}}}, {a: {}}, ['a.b required']],
    [{properties: {a: {}}, additionalProperties: false}, {a: 1, b: 2}, ['b unknown']],
    [{patternProperties: {'^x': {type: 'integer'}}, additionalProperties: false}, {x1: 1, y: 2, x2: 'a'}, ['y unknown', 'x2 type']],
    [{propertyNames: {pattern: '^k'}}, {a: 1}, ['a name']],
    [{dependentRequired: {a: ['b']}}, {a: 1}, ['b required']],
    [{dependencies: {a: ['b'], c: {required: ['d']}}}, {a: 1, c: 1}, ['b required', 'd required']],
    [{if: {required: ['a']}, then: {required: ['b']}, else: {required: ['c']}}, {a: 1}, ['b required']],
    [{if: {required: ['a']}, then: {required: ['b']}, else: {required: ['c']}}, {}, ['c required']],
    [{oneOf: [{minimum: 1}, {maximum: 5}]}, 3, ['one']],
    [{anyOf: [{type: 'string'}, {type: 'object', required: ['a']}]}, {}, ['a required']], // the branch that was meant
    [{oneOf: [{properties: {k: {const: 'x'}}, required: ['k', 'p']}, {properties: {k: {const: 'y'}}, required: ['k', 'q']}]}, {k: 'y'}, ['q required']],
    [{not: {type: 'string'}}, 'a', ['not']],
    [{allOf: [{properties: {a: {}}}], properties: {b: {}}, unevaluatedProperties: false}, {a: 1, b: 1, c: 1}, ['c unknown']],
    [false, 1, ['never']],
    [true, 1, []],
  ];
  for (const [schema, value, want] of cases) assert.deepEqual(rules(schema, value), want, JSON.stringify([schema, value]));
});

test('references are found by pointer, anchor and id, and only among what the document itself has', () => {
  const root = {$defs: {'a/b~c d': {type: 'string'}, x: {$anchor: 'here', type: 'null'}, y: {$id: 'http://a/y', $defs: {z: {type: 'array'}}}}};
  assert.equal(deref(root, '#'), root);
  assert.deepEqual(deref(root, '#/$defs/a~1b~0c%20d'), {type: 'string'});
  assert.equal(deref(root, '#here').type, 'null');
  assert.equal(deref(root, 'http://a/y#/$defs/z').type, 'array');
  for (const nowhere of ['#/$defs/none', '#/constructor', '#/$defs/x/__proto__', '#none', 'http://b/', 5, '#/%']) assert.equal(deref(root, nowhere), undefined, String(nowhere));
});

test('patterns that could take years are left to the server, common ones are not', () => {
  for (const [pattern, text, want] of [
    ['^(a+)+$', 'a'.repeat(40) + '!', undefined], ['(x+x+)+y', 'x'.repeat(40), undefined], ['^a*a*a*a*a*a*$', 'a'.repeat(100) + '!', undefined],
    ['(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)b', 'a'.repeat(21), undefined],
    ['([', 'a', undefined], ['^\\d{4}-\\d{2}-\\d{2}$', '2026-01-31', true], ['^0x[a-fA-F0-9]{40}$', '0x' + 'a'.repeat(39), false], ['^[a-z]{2}(-[A-Z]{2})?$', 'en-US', true],
  ]) assert.equal(matches(pattern, text), want, pattern);
});

test('a check ends, whatever the schema: after its steps all is right', () => {
  const doubling = {$ref: '#/$defs/d0', $defs: {d60: {type: 'string'}}};
  for (let i = 0; i < 60; i++) doubling.$defs[`d${i}`] = {anyOf: [{$ref: `#/$defs/d${i + 1}`}, {not: {$ref: `#/$defs/d${i + 1}`}}]};
  check(doubling, 5);
  assert.deepEqual(check({$ref: '#'}, 5), []);
  assert.equal(check({type: 'array', items: {type: 'string'}}, Array(5000).fill(1)).length, 100);
});

test('what schemas say together is put together', () => {
  const root = {$defs: {base: {type: 'object', properties: {a: {type: 'string'}}, required: ['a']}}, allOf: [{$ref: '#/$defs/base'}, {properties: {a: {minLength: 2}, n: {type: ['integer', 'null'], minimum: 3}}}], description: 'outer'};
  const flat = flatten(root, root);
  assert.deepEqual([...flat.required], ['a']);
  assert.deepEqual(flat.properties.get('a'), {allOf: [{type: 'string'}, {minLength: 2}]});
  assert.equal(flat.description, 'outer');
  const n = flatten(flat.properties.get('n'), root);
  assert.deepEqual([n.types, n.nullable, n.minimum], [['integer'], true, 3]);
  assert.equal(flatten({allOf: [{type: 'string'}, {type: 'number'}]}, {}).never, true);
  assert.deepEqual(flatten({allOf: [{type: 'number'}, {type: ['integer', 'string']}]}, {}).types, ['integer']);
  const when = {if: {properties: {k: {const: 1}}, required: ['k']}, then: {required: ['x']}, else: {required: ['y']}};
  assert.deepEqual([[...flatten(when, when, {k: 1}).required], [...flatten(when, when, {}).required]], [['x'], ['y']]);
});

test('branches become one choice, and null and constants none', () => {
  assert.equal(flatten({anyOf: [{type: 'string'}, {type: 'null'}]}, {}).nullable, true);
  assert.deepEqual(flatten({anyOf: [{type: 'string'}, {type: 'null'}]}, {}).types, ['string']);
  const titled = flatten({oneOf: [{const: 'r', title: 'Red'}, {const: 'g'}]}, {});
  assert.deepEqual([titled.enum, [...titled.titles], titled.choices], [['r', 'g'], [['"r"', 'Red']], []]);
  const schema = {properties: {a: {}}, oneOf: [{title: 'One', required: ['a']}, {not: {}}, {properties: {kind: {const: 'two'}}, required: ['kind']}]};
  const all = variants(schema, flatten(schema, schema), schema);
  assert.deepEqual(all.map((one) => one.label), ['One', 'two']);
  assert.deepEqual(all[1].schema, {properties: {a: {}}, allOf: [{properties: {kind: {const: 'two'}}, required: ['kind']}]});
  assert.equal(pick(all, {kind: 'two'}, schema), 1);
  assert.deepEqual(variants({}, flatten({}, {}), {}).map((one) => one.type), ['string', 'number', 'boolean', 'object', 'array']);
  const far = {$ref: '#/$defs/c', $defs: {c: {allOf: [{anyOf: [{type: 'string'}, {type: 'number'}]}]}}};
  assert.deepEqual(variants(far, flatten(far, far), far).map((one) => flatten(one.schema, far).types), [['string'], ['number']]);
});

test('a value begins with what must be and can be only one way, and a question with all defaults', () => {
  const schema = {type: 'object', required: ['k', 'n', 'o', 't'], properties: {k: {const: 'x'}, n: {default: 3}, o: {type: 'object', required: ['l'], properties: {l: {type: 'array'}}}, t: {type: 'string'}, opt: {default: 1}}};
  assert.deepEqual(start(schema, schema), {k: 'x', n: 3, o: {l: []}});
  assert.deepEqual(filled(schema, schema, {n: 4}), {n: 4, opt: 1});
  const endless = {type: 'object', required: ['a', 'b'], properties: {a: {$ref: '#'}, b: {$ref: '#'}}};
  let count = 0;
  JSON.stringify(start(endless, endless), (_, v) => (isObject(v) && count++, v));
  assert.ok(count <= 40, `${count} objects`);
});

test('members have the schemas of their name, and further ones are asked for where they are allowed', () => {
  const flat = flatten({properties: {a: {type: 'string'}}, patternProperties: {'^a': {minLength: 1}}, additionalProperties: {type: 'null'}}, {});
  assert.deepEqual(member(flat, 'a'), {allOf: [{type: 'string'}, {minLength: 1}]});
  assert.deepEqual(member(flat, 'ab'), {minLength: 1});
  assert.deepEqual(member(flat, 'constructor'), {type: 'null'});
  assert.deepEqual([{}, {properties: {a: {}}}, {additionalProperties: false}, {additionalProperties: {}}, {additionalProperties: {not: {}}}].map((one) => open(flatten(one, {}))), [true, false, false, true, false]);
});

test('the arguments of a prompt are texts of their names', () => {
  const schema = ofPrompt([{name: 'city', description: 'Where', required: true}, {name: '__proto__'}, {name: 5}, null]);
  assert.deepEqual([Object.keys(schema.properties), schema.required, schema.properties.city.description], [['city', '__proto__'], ['city'], 'Where']);
  assert.deepEqual(rules(schema, {['__proto__']: 'x'}), ['city required']);
});

test('examples fit, and there are none where nothing fits', () => {
  for (const schema of [
    {type: 'string', pattern: '^[A-Z]{2,3}-(\\d+|x)\\.$', minLength: 8}, {type: 'string', pattern: '^(?:a|b)c?[^d]$'}, {type: 'string', pattern: '\\bfoo\\b'}, {type: 'string', pattern: '^\\p{L}+$'},
    {type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5}, {type: 'integer', multipleOf: 6, minimum: 7, maximum: 12}, {type: 'integer', maximum: -3},
    {type: 'array', items: {enum: ['a', 'b', 'c']}, uniqueItems: true, minItems: 3}, {type: 'array', contains: {const: 'q'}, minItems: 2}, {type: 'object', minProperties: 3},
    {type: 'object', properties: {a: {type: 'string'}, b: {type: 'string'}}, oneOf: [{required: ['a']}, {required: ['b']}]}, {type: 'object', dependentRequired: {a: ['b']}, properties: {a: {}, b: {type: 'null'}}},
    {not: {type: 'string'}, enum: ['a', 1]},
  ]) assert.ok(fits(schema, sample(schema) ?? null), `${JSON.stringify(schema)} ${JSON.stringify(sample(schema))}`);
  for (const schema of [false, {type: 'integer', minimum: 5, maximum: 4}, {not: {}}, {allOf: [{const: 1}, {const: 2}]}, {type: 'object', required: ['a'], properties: {a: {$ref: '#'}}}]) assert.equal(sample(schema), undefined, JSON.stringify(schema));
});

test('numbers keep their digits', {skip: JSON.rawJSON ? false : 'this node has no JSON.rawJSON, as browsers have: Node 22 runs it'}, () => {
  const text = '{"a":12345678901234567890,"b":[0.1234567890123456789,1.5,100,1e400,-0.0,1.50]}';
  assert.equal(JSON.stringify(parse(text)), '{"a":12345678901234567890,"b":[0.1234567890123456789,1.5,100,1e400,0,1.5]}');
  assert.equal(kind(parse('9007199254740993')), 'number');
  assert.ok(same(parse('9007199254740993'), parse('9007199254740993.0')) && !same(parse('9007199254740993'), parse('9007199254740992')));
  assert.deepEqual(rules({type: 'integer', minimum: 5}, parse('12345678901234567890')), []);
  assert.equal(JSON.stringify(parseText('{"id":9223372036854775807}')), '{"id":9223372036854775807}'); // what a tool wrote as text
});

test('a text is shown as JSON if it is an object or a list', () => {
  for (const [text, want] of [[' {"a":1}', {a: 1}], ['[]', []], ['[link](x)', undefined], ['{"a":', undefined], ['12', undefined], ['', undefined]]) assert.deepEqual(parseText(text), want, text);
});

test('a text is a number only as JSON writes it', () => {
  for (const [text, want] of [['1', 1], ['-1.5e2', -150], ['0.10', 0.1], ['01', undefined], ['1.', undefined], ['0x10', undefined], ['', undefined], [' 1', undefined], ['Infinity', undefined], ['1_0', undefined]]) assert.equal(number(text), want, text);
});

test('members of any name are members', () => {
  const made = put(put({}, '__proto__', {polluted: true}), 'constructor', 1);
  assert.equal(JSON.stringify(made), '{"__proto__":{"polluted":true},"constructor":1}');
  assert.equal({}.polluted, undefined);
  assert.ok(same(made, parse('{"constructor":1,"__proto__":{"polluted":true}}')));
});
