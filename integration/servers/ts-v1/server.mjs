// A legacy server on the TypeScript SDK v1 (@modelcontextprotocol/sdk): stdio, Streamable
// HTTP with sessions, HTTP+SSE. It has the bridge tools that ../../README.md lists.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { listen, parseFlags, question, reply, sleep, text } from './flags.mjs';
import { shapes } from './shapes.mjs';

const watched = 'test://watched';
const state = { touched: 0, cancelled: false };

// make returns a server with the bridge tools, or with those of shapes.mjs.
function make() {
  return flags.shapes ? shapes() : build();
}

function build() {
  const server = new McpServer(
    { name: 'bridge-ts-v1', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } }, instructions: 'bridge server' },
  );
  addAsking(server);
  addChanges(server);
  addContent(server);
  return server;
}

function addAsking(server) {
  const ask = async (extra, field, message) => {
    const answer = await server.server.elicitInput(question(field, message), { relatedRequestId: extra.requestId, signal: extra.signal });
    return { said: reply(field, answer), value: answer.content?.[field], accepted: answer.action === 'accept' };
  };
  server.registerTool('ask_one', { description: 'asks for a name' }, async (extra) =>
    text((await ask(extra, 'name', 'What is your name?')).said),
  );
  server.registerTool('ask_two', { description: 'asks two questions at once' }, async (extra) => {
    const [a, b] = await Promise.all([ask(extra, 'first', 'First?'), ask(extra, 'second', 'Second?')]);
    return text(`${a.said} ${b.said}`);
  });
  server.registerTool('ask_again', { description: 'asks, then asks about the answer' }, async (extra) => {
    const color = await ask(extra, 'color', 'Which color?');
    if (!color.accepted) return text(color.said);
    const shade = await ask(extra, 'shade', `Which shade of ${color.value}?`);
    return text(`${color.said} ${shade.said}`);
  });
  server.registerTool('sample', { description: 'asks the model of the client' }, async (extra) => {
    const answer = await server.server.createMessage(
      { messages: [{ role: 'user', content: { type: 'text', text: 'Say something.' } }], maxTokens: 100 },
      { relatedRequestId: extra.requestId },
    );
    return text(`sampled: ${answer.content.text}`);
  });
  server.registerTool('roots', { description: 'tells the roots of the client' }, async (extra) => {
    const answer = await server.server.listRoots(undefined, { relatedRequestId: extra.requestId });
    return text(`roots: ${answer.roots.map((r) => r.uri).join(',')}`);
  });
}

function addChanges(server) {
  const subscribed = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, async (r) => {
    subscribed.add(r.params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, async (r) => {
    subscribed.delete(r.params.uri);
    return {};
  });
  server.registerTool('progress', { description: 'tells its progress five times' }, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let i = 1; i <= 5 && progressToken !== undefined; i++) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: i, total: 5, message: `step ${i}` },
      });
      // Both TypeScript clients drop progress that is read together with the result.
      await sleep(i < 5 ? 20 : 200, extra.signal);
    }
    return text('progressed');
  });
  server.registerTool('logs', { description: 'logs three messages' }, async (extra) => {
    for (let i = 1; i <= 3; i++) {
      await extra.sendNotification({
        method: 'notifications/message',
        params: { level: 'info', logger: 'bridge', data: `log ${i}` },
      });
    }
    return text('logged');
  });
  const extraTool = server.registerTool('extra', { description: 'comes and goes' }, async () => text('extra'));
  extraTool.disable();
  server.registerTool('change_tools', { description: 'adds or removes the tool extra' }, async () => {
    if (extraTool.enabled) extraTool.disable();
    else extraTool.enable();
    return text(extraTool.enabled ? 'added' : 'removed');
  });
  server.registerTool('touch', { description: `changes ${watched}` }, async () => {
    state.touched++;
    if (subscribed.has(watched)) await server.server.sendResourceUpdated({ uri: watched });
    return text(`touched ${state.touched}`);
  });
}

function addContent(server) {
  server.registerTool('echo', { description: 'repeats', inputSchema: { text: z.string() } }, async (args) => text(args.text));
  server.registerTool('slow', { description: 'takes its time', inputSchema: { ms: z.number() } }, async ({ ms }, extra) => {
    state.cancelled = !(await sleep(ms, extra.signal));
    return text(`slept ${ms}`);
  });
  server.registerTool('was_cancelled', { description: 'tells how slow ended' }, async () => text(state.cancelled ? 'yes' : 'no'));

  const read = (uri, s) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: s }] });
  server.registerResource('watched', watched, { description: 'changes' }, async (uri) => read(uri, `touched ${state.touched}`));
  server.registerResource('static', 'test://static', { description: 'stays' }, async (uri) => read(uri, 'static text'));
  server.registerResource('item', new ResourceTemplate('test://item/{id}', { list: undefined }), { description: 'one item' }, async (uri, { id }) =>
    read(uri, `item ${id}`),
  );
  const names = ['alice', 'albert', 'bob'];
  server.registerPrompt(
    'greet',
    { description: 'greets', argsSchema: { name: completable(z.string(), (v) => names.filter((n) => n.startsWith(v))) } },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}` } }] }),
  );
}

function serveHTTP(address) {
  const sessions = new Map();
  const http = createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (req.headers['mcp-session-id'] && !transport) {
      res.writeHead(404).end();
      return;
    }
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id),
      });
      await make().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  listen(http, address, '/mcp');
}

function serveSSE(address) {
  const sessions = new Map();
  const http = createServer(async (req, res) => {
    const url = new URL(req.url, 'http://localhost');
    if (req.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', res);
      sessions.set(transport.sessionId, transport);
      res.on('close', () => sessions.delete(transport.sessionId));
      await make().connect(transport);
      return;
    }
    const transport = sessions.get(url.searchParams.get('sessionId'));
    if (!transport || url.pathname !== '/messages') res.writeHead(404).end();
    else await transport.handlePostMessage(req, res);
  });
  listen(http, address, '/sse');
}

const flags = parseFlags(process.argv.slice(2));
if (flags.capabilities) {
  console.log(JSON.stringify({ name: 'ts-v1', eras: ['legacy'], transports: ['stdio', 'http', 'sse'], cannot: {} }));
} else if (flags.http) serveHTTP(flags.http);
else if (flags.sse) serveSSE(flags.sse);
else await make().connect(new StdioServerTransport());
