import assert from 'node:assert/strict';
import {test} from 'node:test';
import {diff, folded, MAX_WORK, sorted} from './compare.js';

const short = (lines) => lines.map(({kind, text}) => ({same: ' ', less: '-', more: '+'}[kind] + text)).join('|');

test('lines that differ are found', () => {
  const cases = [
    ['a\nb\nc', 'a\nb\nc', ' a| b| c'],
    ['a\nb\nc', 'a\nx\nc', ' a|-b|+x| c'],
    ['a\nb', 'b\na', '-a| b|+a'],
    ['', 'a', '-|+a'],
    ['a\nc', 'a\nb\nc', ' a|+b| c'],
    ['a\nb\nc', 'a\nc', ' a|-b| c'],
  ];
  for (const [before, after, want] of cases) assert.equal(short(diff(before, after)), want);
});

test('texts that differ in too much differ as a whole, in a moment', () => {
  const many = (word) => Array.from({length: MAX_WORK ** 0.5 + 1}, (_, n) => word + n).join('\n');
  const lines = diff(many('a'), many('b'));
  assert.equal(lines.length, 2 * (MAX_WORK ** 0.5 + 1));
  assert.equal(lines[0].kind, 'less');
  assert.equal(lines.at(-1).kind, 'more');
});

test('what is the same far away is folded', () => {
  const same = Array.from({length: 10}, (_, n) => ({kind: 'same', text: String(n)}));
  const got = folded([...same, {kind: 'more', text: 'x'}, ...same.slice(0, 2)], 2);
  assert.deepEqual(got.map((line) => line.kind), ['fold', 'same', 'same', 'more', 'same', 'same']);
  assert.equal(got[0].lines.length, 8);
  assert.deepEqual(folded(same.slice(0, 1)), same.slice(0, 1));
});

test('the order of members is no difference', () => {
  assert.equal(sorted({b: 1, a: [{d: 1, c: 2}]}), sorted({a: [{c: 2, d: 1}], b: 1}));
  assert.equal(sorted(undefined), '');
});
