// What a page learns of a connection from its events.
import assert from 'node:assert/strict';
import {mock, test} from 'node:test';

globalThis.document = Object.assign(new EventTarget(), {hidden: true}); // so that no stream begins

const {changes, MAX_KEPT, Session} = await import('./session.js');

const view = (state, more) => ({id: 'c1', name: 's', state, capabilities: {tools: {}}, ...more});

// asked has requests answered as the console does: at once, with their events.
function asked(session, answers) {
  let n = 0;
  const sent = [];
  globalThis.fetch = async (path, init) => {
    const body = init.body && JSON.parse(init.body);
    sent.push([init.method, path, body]);
    if (!path.endsWith('/requests')) return new Response('', {status: 200});
    const request = ++n;
    session.take('request', {request, method: body.method, params: body.params, state: 'running', began: '2026-01-01T00:00:00Z'});
    session.take('result', {request, method: body.method, state: 'done', ms: 3, ...answers(body)}); // before the answer to the page
    return new Response(JSON.stringify({request}), {status: 202});
  };
  return sent;
}

test('a list says what was added, removed and changed', () => {
  assert.deepEqual(changes([{name: 'a'}, {name: 'b', x: 1}, {name: 'c'}], [{name: 'b', x: 2}, {name: 'c'}, {name: 'd'}], 'name'),
    {added: ['d'], removed: ['a'], changed: ['b']});
});

test('a result that comes before the answer to the page is not lost', async () => {
  const session = new Session(view('connected'));
  asked(session, () => ({result: {content: []}}));
  const done = await session.ask('tools/call', {name: 'x'});
  assert.deepEqual([done.state, done.params, done.result], ['done', {name: 'x'}, {content: []}]);
});

test('lists are asked for once the events of before have come, and again when they change', async (t) => {
  mock.timers.enable({apis: ['setTimeout']});
  t.after(() => mock.timers.reset());
  const settled = async () => {
    mock.timers.tick(100);
    for (let i = 0; i < 20; i++) await null;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const session = new Session(view('connecting'));
  let tools = [{name: 'a'}];
  const sent = asked(session, () => ({result: {tools}}));
  session.follow();
  for (const state of ['connecting', 'failed', 'connecting', 'connected']) session.take('state', view(state));
  await settled();
  assert.deepEqual(sent.map(([, , body]) => body.method), ['tools/list']); // the server has nothing else
  assert.deepEqual(session.lists.tools, {state: 'ready', entries: [{name: 'a'}], changes: null});
  assert.equal(session.lists.prompts.state, 'none');
  tools = [{name: 'b'}, {noName: 1}];
  session.take('notification', {method: 'notifications/tools/list_changed'});
  await settled();
  assert.deepEqual(session.lists.tools, {state: 'ready', entries: [{name: 'b'}], changes: {added: ['b'], removed: ['a'], changed: []}});
  session.unfollow();
});

test('a list that fails says why', async () => {
  const session = new Session(view('connected'));
  asked(session, () => ({error: {cause: 'broken', code: -32603}}));
  await session.list('tools');
  assert.deepEqual(session.lists.tools, {state: 'failed', failure: {cause: 'broken', code: -32603}});
});

test('questions stay until they are answered, and progress belongs to its request', () => {
  const session = new Session(view('connected'));
  const heard = [];
  session.watch((topic) => heard.push(topic));
  session.take('question', {question: 4, kind: 'roots', request: 5});
  session.take('request', {request: 5, method: 'tools/call', state: 'running'});
  session.take('notification', {method: 'notifications/progress', request: 5, params: {progress: 1, total: 2}});
  assert.deepEqual([session.questions.size, session.requests.get(5).progress], [1, {progress: 1, total: 2}]);
  assert.deepEqual([session.asks(5), session.asks(6)], [true, false]);
  session.take('answered', {question: 4, action: 'decline'});
  assert.deepEqual([session.questions.size, session.asks(5)], [0, false]);
  assert.deepEqual(heard, ['question', 'request', 'notification', 'answered']);
});

test('the last run of each entry is known after the page was loaded again', () => {
  const session = new Session(view('connected'));
  const asked = [['tools/call', {name: 'a'}], ['tools/call', {name: 'a'}], ['prompts/get', {name: 'a'}], ['resources/read', {uri: 'a://1'}], ['tools/list', {}], ['ping', undefined]];
  asked.forEach(([method, params], n) => session.take('request', {request: n + 1, method, params, state: 'running'}));
  assert.deepEqual([...session.latest], [['tools/a', 2], ['prompts/a', 3], ['resources/a://1', 4]]);
});

test('an error has the code that the server sent', () => {
  const session = new Session(view('connected'));
  session.take('message', {toServer: true, request: 3, kind: 'request', message: {id: 1}});
  session.take('message', {toServer: false, request: 3, kind: 'response', message: {id: 1, error: {code: -32002}}});
  session.take('message', {toServer: false, request: 4, kind: 'response', message: {id: 2, result: {}}});
  assert.deepEqual([session.sentCode(3), session.sentCode(4), session.sentCode(5)], [-32002, undefined, undefined]);
});

test('a resource has the time of its last change', () => {
  const session = new Session(view('connected'));
  const updated = (uri, time) => session.take('notification', {method: 'notifications/resources/updated', params: {uri}, time});
  updated('a://1', '2026-01-01T00:00:01Z');
  updated('a://1', '2026-01-01T00:00:02Z');
  updated('a://2', '2026-01-01T00:00:03Z');
  assert.deepEqual(['a://1', 'a://2', 'a://3'].map((uri) => session.changed(uri)), ['2026-01-01T00:00:02Z', '2026-01-01T00:00:03Z', undefined]);
});

test('what is kept has an end', () => {
  const session = new Session(view('connected'));
  for (let n = 0; n < 2 * MAX_KEPT; n++) {
    session.take('message', {n});
    session.take('request', {request: n, method: 'ping', state: 'running'});
    session.take('result', {request: n, state: 'done'});
  }
  assert.equal(session.events.messages.length, MAX_KEPT);
  assert.equal(session.events.messages.at(-1).n, 2 * MAX_KEPT - 1);
  assert.equal(session.requests.size, MAX_KEPT / 2);
  session.take('gap', {missed: 3});
  assert.equal(session.missed, 3);
});
