// What a stream of events makes of the bytes that come in.
import test from 'node:test';
import assert from 'node:assert/strict';

globalThis.document = Object.assign(new EventTarget(), {hidden: false});

const {get, stream, ApiError} = await import('./api.js');

// body is a response that gives these pieces one after the other.
const body = (...pieces) => new Response(new ReadableStream({
  start(controller) {
    for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
    controller.close();
  },
}));

test('events are cut out of pieces, and the last id is sent when it connects again', async () => {
  const asked = [];
  const answers = [body('id: 1\nevent: a\ndata: {"n"', ':1}\n\n: nothing\n\nid: 2\ndata: [2', ']\n', '\n'), body('data: 3\n\n')];
  globalThis.fetch = async (path, init) => {
    asked.push([path, init.headers['Last-Event-ID']]);
    return answers.shift() ?? new Promise(() => {});
  };
  const events = [];
  const states = [];
  const close = await new Promise((done) => {
    const end = stream('traffic/stream', (...event) => {
      events.push(event);
      if (events.length === 3) done(end);
    }, (state) => states.push(state));
  });
  close();
  assert.deepEqual(events, [['a', {n: 1}, '1'], ['message', [2], '2'], ['message', 3, '2']]);
  assert.deepEqual(asked, [['api/v1/traffic/stream', undefined], ['api/v1/traffic/stream', '2']]);
  assert.deepEqual(states, ['open', 'lost', 'open']);
});

test('an error says what the API said, or that nobody answers', async () => {
  globalThis.fetch = async () => new Response('{"error":"no such server"}', {status: 404});
  await assert.rejects(get('x'), (error) => error instanceof ApiError && error.status === 404 && error.message === 'no such server');
  globalThis.fetch = async () => { throw new TypeError('refused'); };
  await assert.rejects(get('x'), (error) => error.status === 0);
});
