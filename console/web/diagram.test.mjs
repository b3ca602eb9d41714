// Where the arrows of the diagram go, and which of them belong together.
import test from 'node:test';
import assert from 'node:assert/strict';
import {arrow, bars, counterpart, ends, headersOf, Lanes, tracks, Waiting} from './diagram.js';

const request = {seq: 1, pid: 7, call: 4, kind: 'request', hop: 'client', toServer: true, client: 'me/1', method: 'tools/call', name: 'add'};
const passedOn = {...request, seq: 2, hop: 'server', server: 'math'};
const result = {...passedOn, seq: 3, kind: 'response', toServer: undefined, took: 5};
const answer = {...request, seq: 4, kind: 'response', toServer: undefined, took: 9};

test('messages go from lane to lane', () => {
  const names = (item) => ends(item).map(({kind, name}) => `${kind} ${name}`).join(' to ');
  assert.equal(names(request), 'client me/1 to junction 7');
  assert.equal(names(passedOn), 'junction 7 to server math');
  assert.equal(names(result), 'server math to junction 7');
  assert.equal(names(answer), 'junction 7 to client me/1');
  assert.equal(names({pid: 7, kind: 'note', hop: 'client'}), 'junction 7 to junction 7');
  assert.equal(names({pid: 7, kind: 'dropped'}), 'junction 7 to junction 7');
  assert.equal(names({pid: 7, kind: 'request', hop: 'client', toServer: true}), 'client  to junction 7');
});

test('clients stand left, servers right, and those beyond the limit share the last lane', () => {
  const lanes = new Lanes();
  assert.equal(lanes.choose([passedOn, request, {...passedOn, server: 'a'}]), true);
  assert.equal(lanes.choose([answer, result]), false);
  assert.deepEqual(lanes.list.map(({name}) => name), ['me/1', '7', 'math', 'a']);
  assert.deepEqual(lanes.of(result), [2, 1]);
  assert.deepEqual(lanes.names('server'), ['math', 'a']);
  for (let n = 0; n < 100; n++) lanes.see([{...passedOn, server: `s${n}`}]);
  assert.equal(lanes.choose([]), true);
  assert.equal(lanes.list.length, 40);
  assert.deepEqual(lanes.of({...passedOn, server: 's99'}), [1, 39]);
});

test('what only ended processes had has a lane as long as one looks at it', () => {
  const lanes = new Lanes();
  const names = (items) => {
    lanes.choose(items);
    return lanes.list.map(({name}) => name);
  };
  const old = [passedOn, {...passedOn, server: 'gone'}];
  const next = {...passedOn, pid: 8};
  assert.deepEqual(names([...old, request]), ['me/1', '7', 'math', 'gone']);
  lanes.end([7]);
  assert.deepEqual(names(old), ['7', 'math', 'gone']);
  assert.deepEqual(names([next]), ['8', 'math']);
  assert.equal(lanes.alone, true);
  assert.deepEqual(names([next, old[0]]), ['7', '8', 'math']);
  assert.deepEqual(names([]), ['8', 'math']);
  assert.deepEqual(lanes.names('junction'), ['7', '8']); // they can be filtered by
  lanes.end([]);
  lanes.see([request]); // the number is that of another process now
  assert.deepEqual(names([]), ['me/1', '7', '8', 'math']);
});

test('the lanes of many processes that ended are forgotten', () => {
  const lanes = new Lanes();
  for (let pid = 1; pid <= 1000; pid++) {
    lanes.see([{...passedOn, pid}]);
    lanes.end([pid]);
  }
  assert.ok(lanes.names('junction').length <= 400);
  lanes.choose([{...passedOn, pid: 1001}]);
  assert.deepEqual(lanes.list.map(({name}) => name), ['1001', 'math']);
});

test('what one looks at keeps its lanes, however many are known', () => {
  const lanes = new Lanes();
  const long = {...passedOn, pid: 1, server: 'long'}; // it ends last
  const others = Array.from({length: 500}, (_, n) => ({...passedOn, pid: n + 2, server: `s${n + 2}`}));
  lanes.see([long]);
  others.forEach((one, n) => {
    lanes.see([one]);
    lanes.end(others.slice(0, n + 1).map(({pid}) => pid));
  });
  lanes.end([...others.map(({pid}) => pid), 1]);
  lanes.choose([long, others[0]]);
  assert.deepEqual(lanes.of(long).map((n) => lanes.list[n].name), ['1', 'long']);
});

test('an arrow is between its lanes, and its text where there is room', () => {
  assert.deepEqual(arrow([0, 1], 300, 3), {left: 50, width: 100, toRight: true, remark: false, textLeft: true, room: 100});
  assert.deepEqual(arrow([2, 1], 300, 3), {left: 150, width: 100, toRight: false, remark: false, textLeft: false, room: 100});
  assert.deepEqual([arrow([1, 1], 300, 3).remark, arrow([1, 1], 300, 3).room], [true, 200]);
  assert.equal(arrow([0, 6], 700, 7).room, 600); // the words of a long arrow have all of it
  assert.deepEqual([arrow([1, 8], 1086, 9).left, arrow([1, 8], 1086, 9).width], [180, 840]); // whole pixels, as the lines of lanes
});

test('calls that go on at the same time have lines next to each other', () => {
  const of = (call) => ({pid: 1, call});
  const shown = tracks([of(1), of(2), of(1), {pid: 1}, of(2), of(3), undefined]).map((lines) => lines.map(({track, part, own}) => `${track}${part}${own ? '*' : ''}`).join(' '));
  assert.deepEqual(shown, ['0begin*', '0on 1begin*', '0end* 1on', '1on', '1end*', '0only*', '']);
});

test('more calls at a time than there is room for are drawn without a line', () => {
  const calls = Array.from({length: 10}, (_, n) => ({pid: 1, call: n + 1}));
  const all = tracks([...calls, ...calls]);
  assert.ok(all.every((lines) => lines.length <= 6));
});

test('a request waits until it is answered on the same hop', () => {
  const waiting = new Waiting();
  waiting.see([request, passedOn, {...request, seq: 9}]);
  assert.deepEqual([request, passedOn].map((item) => waiting.has(item)), [true, true]);
  waiting.see([result]);
  assert.deepEqual([request, passedOn].map((item) => waiting.has(item)), [true, false]);
  waiting.see([answer]);
  assert.equal(waiting.has(request), false);
  assert.equal(waiting.has({...request, seq: 9}), true);
  for (let n = 0; n < 2000; n++) waiting.see([{...request, seq: 100 + n, call: 100 + n}]);
  assert.equal(waiting.has({...request, seq: 2099, call: 2099}), true);
  assert.equal(waiting.has({...request, seq: 9}), false);
});

test('what is asked of a client, and subscriptions, do not wait', () => {
  const waiting = new Waiting();
  const asked = {...request, toServer: false, method: 'elicitation/create'};
  const listen = {...request, method: 'subscriptions/listen'};
  waiting.see([request, asked, listen, {...answer, toServer: true, method: undefined}]);
  assert.deepEqual([request, asked, listen].map((item) => waiting.has(item)), [true, false, false]);
});

test('the same message of the other hop', () => {
  const failed = {...answer, kind: 'error'};
  const again = [{...passedOn, seq: 5}, {...result, seq: 6}];
  const all = [request, passedOn, result, ...again, failed];
  assert.equal(counterpart(all, 1).seq, 2);
  assert.equal(counterpart(all, 2).seq, 1);
  assert.equal(counterpart(all, 4).seq, 3);
  assert.equal(counterpart(all, 6), null);
  assert.equal(counterpart(all, 99), null);
});

test('the headers of a message', () => {
  const note = (seq, hop, id) => ({seq, kind: 'note', note: 'http', hop, id, message: {method: 'POST', status: 200}});
  const all = [note(3, 'server', 7), note(5, 'client', 3), note(6, 'client', 4), note(9, 'client', 3)];
  assert.equal(headersOf(all, {seq: 1, hop: 'client', id: 3}).seq, 5);
  assert.equal(headersOf(all, {seq: 7, hop: 'client', id: 3}).seq, 9);
  assert.equal(headersOf(all, {seq: 7, hop: 'client', id: 4}).seq, 6);
  assert.equal(headersOf(all, {seq: 4, hop: 'server', id: 3}), null);
});

test('bars of a call', () => {
  const spans = [{seq: 1, answer: 4, start: 0, took: 100}, {seq: 2, start: 25}];
  assert.deepEqual(bars({spans, took: 100}).map(({left, width, waits}) => [left, width, waits]), [[0, 100, false], [25, 75, true]]);
  assert.deepEqual(bars({spans: [], took: 0}), []);
  const asked = {
    began: '2026-11-25T12:00:00.000Z', took: 10e6, spans: [{seq: 1, answer: 3, start: 0, took: 10e6}, {seq: 2, start: 2e6}],
    messages: [{seq: 1, hop: 'client', toServer: true, kind: 'request'}, {seq: 2, hop: 'client', kind: 'request'}, {seq: 3, hop: 'client', kind: 'response', time: '2026-11-25T12:00:00.008Z'}],
  };
  assert.deepEqual(bars(asked).map(({left, width, waits}) => [left, width, waits]), [[0, 100, false], [20, 60, false]]);
});
