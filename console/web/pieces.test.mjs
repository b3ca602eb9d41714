// What is shown of JSON, and what differs.
import test from 'node:test';
import assert from 'node:assert/strict';
import {kind as kindOf} from './json.js';
import {differences, gist} from './pieces.js';

test('a value in one line', () => {
  for (const [value, want] of [[{a: 1}, '{1}'], [[1, 2], '[2]'], ['a"b', '"a\\"b"'], [null, 'null'], [1.5, '1.5'], [true, 'true']]) assert.equal(gist(value), want);
  assert.equal(gist('x'.repeat(1000)).length, 403);
  assert.deepEqual([{}, [], 'a', 1, false, null].map(kindOf), ['object', 'array', 'string', 'number', 'boolean', 'null']);
});

test('numbers stay as they were written', {skip: !JSON.rawJSON && 'this Node has no JSON.rawJSON'}, () => {
  const big = JSON.rawJSON('12345678901234567890');
  assert.deepEqual([kindOf(big), gist(big), JSON.stringify({big})], ['number', '12345678901234567890', '{"big":12345678901234567890}']);
  assert.deepEqual(differences({n: big}, {n: JSON.rawJSON('12345678901234567890')}).found, []);
  assert.equal(differences({n: big}, {n: JSON.rawJSON('1.0')}).found.length, 1);
});

test('differences have their place', () => {
  const before = {id: 1, params: {name: 'x', list: [1, 2], 'a b': null}};
  const after = {id: 2, params: {name: 'x', list: [1, 3, 4], meta: {}}};
  assert.deepEqual(differences(before, after).found, [
    {path: 'id', kind: 'changed', before: 1, after: 2},
    {path: 'params.list[1]', kind: 'changed', before: 2, after: 3},
    {path: 'params.list[2]', kind: 'added', after: 4},
    {path: 'params["a b"]', kind: 'removed', before: null},
    {path: 'params.meta', kind: 'added', after: {}},
  ]);
  assert.deepEqual(differences(before, structuredClone(before)), {found: [], more: false});
  assert.deepEqual(differences({a: []}, {a: {}}).found, [{path: 'a', kind: 'changed', before: [], after: {}}]);
});

test('what differs has a limit, in number and in depth', () => {
  const many = differences({}, Object.fromEntries(Array.from({length: 1000}, (_, n) => [`k${n}`, n])));
  assert.deepEqual([many.found.length, many.more], [300, true]);
  const deep = (n, end) => (n === 0 ? end : {a: deep(n - 1, end)});
  assert.equal(differences(deep(500, 1), deep(500, 2)).found.length, 1);
  assert.equal(differences(deep(500, 1), deep(500, 1)).found.length, 0);
});

test('names that mean something to JavaScript are names', () => {
  assert.deepEqual(differences(JSON.parse('{}'), JSON.parse('{"__proto__":1}')).found, [{path: '__proto__', kind: 'added', after: 1}]);
});
