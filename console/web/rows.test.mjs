// Which rows are in the document, and which messages have to be fetched for them.
import test from 'node:test';
import assert from 'node:assert/strict';
import {AllRows, FoundRows, visible} from './rows.js';

const items = (from, to) => Array.from({length: to - from + 1}, (_, n) => ({seq: 2 * (from + n), row: from + n}));
const bounds = (firstRow, lastRow) => ({firstRow, lastRow});

test('only the rows that one sees, and some beyond, are in the document', () => {
  for (const [given, want] of [
    [[0, 280, 28, 100000], {start: 0, end: 18}],
    [[28000, 280, 28, 100000], {start: 992, end: 1018}],
    [[2799720, 280, 28, 100000], {start: 99982, end: 100000}],
    [[0, 280, 28, 0], {start: 0, end: 0}],
    [[5000, 280, 28, 3], {start: 3, end: 3}],
  ]) assert.deepEqual(visible(...given), want, String(given));
});

test('what is missing is fetched in pages that do not move', () => {
  const rows = new AllRows();
  rows.bounds(bounds(1, 100000));
  assert.deepEqual(rows.missing(50000, 50060), [{afterRow: 49999, limit: 200}]);
  assert.deepEqual(rows.missing(190, 230), [{afterRow: 0, limit: 200}, {afterRow: 199, limit: 200}]);
  rows.put(items(50000, 50199));
  assert.deepEqual(rows.missing(50000, 50060), []);
  assert.equal(rows.at(rows.rowOf(100020)).row, 50010);
  assert.equal(rows.rowOf(100021), -1);
});

test('what one does not look at any more is forgotten', () => {
  const rows = new AllRows();
  rows.bounds(bounds(1, 100000));
  for (let at = 200; at < 80000; at += 200) rows.put(items(at, at + 199));
  assert.deepEqual([rows.at(299), rows.rowOf(600)], [undefined, -1]);
  assert.equal(rows.at(rows.rowOf(158000)).row, 79000);
});

test('old messages that the console forgets move the others up', () => {
  const rows = new AllRows();
  assert.equal(rows.bounds(bounds(1, 100)), 0);
  rows.put(items(1, 100));
  assert.equal(rows.bounds(bounds(31, 120)), 30);
  assert.equal(rows.count, 90);
  assert.equal(rows.at(0).row, 31);
  assert.equal(rows.bounds(bounds(121, 120)), 90);
  assert.equal(rows.count, 0);
});

test('with a filter older messages are looked for when the first one is near', () => {
  const rows = new FoundRows();
  rows.bounds({first: 1});
  assert.deepEqual(rows.missing(0, 0), [{before: 0, limit: 200}]);
  assert.equal(rows.older({items: [{seq: 900}, {seq: 700}], next: 500, more: true}), 2);
  assert.deepEqual(rows.missing(0, 2), [{before: 500, limit: 200}]);
  rows.put([{seq: 900}, {seq: 1001}]);
  assert.equal(rows.older({items: [{seq: 700}, {seq: 3}], next: 1, more: false}), 1);
  assert.deepEqual([0, 1, 2, 3].map((row) => rows.at(row).seq), [3, 700, 900, 1001]);
  assert.deepEqual(rows.missing(0, 3), []);
  assert.deepEqual([rows.rowOf(700), rows.rowOf(701)], [1, -1]);
  assert.equal(rows.bounds({first: 701}), 2);
  assert.equal(rows.at(0).seq, 900);
});
