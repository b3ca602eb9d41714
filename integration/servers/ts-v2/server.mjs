// A modern server on the TypeScript SDK v2 (@modelcontextprotocol/server): stdio and HTTP.
// --era modern (default) refuses legacy clients; --era both serves them too. It has the
// bridge tools that ../../README.md lists.
import { createServer } from 'node:http';
import {
  McpServer,
  ResourceTemplate,
  completable,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod';
import { listen, parseFlags, question, reply, sleep, text } from './flags.mjs';

const watched = 'test://watched';
const state = { touched: 0, cancelled: false, extra: false };
const codec = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)), ttlSeconds: 600 });
let published; // the handler whose open streams hear of changes, over HTTP

function build(context) {
  const server = new McpServer(
    { name: 'bridge-ts-v2', version: '1.0.0' },
    {
      capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
      instructions: 'bridge server',
      requestState: { verify: codec.verify },
    },
  );
  addAsking(server);
  addChanges(server, context);
  addContent(server);
  return server;
}

function addAsking(server) {
  const elicit = (field, message) => inputRequired.elicit(question(field, message));
  const answerTo = (ctx, field) => {
    const view = inputResponse(ctx.mcpReq.inputResponses, field);
    return view.kind === 'elicit' ? view : undefined;
  };
  server.registerTool('ask_one', { description: 'asks for a name' }, async (ctx) => {
    const name = answerTo(ctx, 'name');
    if (!name) return inputRequired({ inputRequests: { name: elicit('name', 'What is your name?') } });
    return text(reply('name', name));
  });
  server.registerTool('ask_two', { description: 'asks two questions at once' }, async (ctx) => {
    const first = answerTo(ctx, 'first');
    const second = answerTo(ctx, 'second');
    if (!first || !second) {
      return inputRequired({ inputRequests: { first: elicit('first', 'First?'), second: elicit('second', 'Second?') } });
    }
    return text(`${reply('first', first)} ${reply('second', second)}`);
  });
  server.registerTool('ask_again', { description: 'asks, then asks about the answer' }, async (ctx) => {
    const known = ctx.mcpReq.requestState()?.color;
    if (known) {
      const shade = answerTo(ctx, 'shade');
      return text(`color=${known} ${reply('shade', shade ?? { action: 'cancel' })}`);
    }
    const color = answerTo(ctx, 'color');
    if (!color) return inputRequired({ inputRequests: { color: elicit('color', 'Which color?') } });
    if (color.action !== 'accept') return text(reply('color', color));
    return inputRequired({
      inputRequests: { shade: elicit('shade', `Which shade of ${color.content.color}?`) },
      requestState: await codec.mint({ color: color.content.color }),
    });
  });
  server.registerTool('sample', { description: 'asks the model of the client' }, async (ctx) => {
    const view = inputResponse(ctx.mcpReq.inputResponses, 'sample');
    if (view.kind !== 'sampling') {
      const messages = [{ role: 'user', content: { type: 'text', text: 'Say something.' } }];
      return inputRequired({ inputRequests: { sample: inputRequired.createMessage({ messages, maxTokens: 100 }) } });
    }
    return text(`sampled: ${view.result.content.text}`);
  });
  server.registerTool('roots', { description: 'tells the roots of the client' }, async (ctx) => {
    const view = inputResponse(ctx.mcpReq.inputResponses, 'roots');
    if (view.kind !== 'roots') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    return text(`roots: ${view.roots.map((r) => r.uri).join(',')}`);
  });
}

function addChanges(server, context) {
  const subscribed = new Set();
  if (context.era === 'legacy') {
    server.server.setRequestHandler('resources/subscribe', async (r) => {
      subscribed.add(r.params.uri);
      return {};
    });
    server.server.setRequestHandler('resources/unsubscribe', async (r) => {
      subscribed.delete(r.params.uri);
      return {};
    });
  }
  server.registerTool('progress', { description: 'tells its progress five times' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= 5 && progressToken !== undefined; i++) {
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: i, total: 5, message: `step ${i}` },
      });
      // Both TypeScript clients drop progress that is read together with the result.
      await sleep(i < 5 ? 20 : 200, ctx.mcpReq.signal);
    }
    return text('progressed');
  });
  server.registerTool('logs', { description: 'logs three messages' }, async (ctx) => {
    for (let i = 1; i <= 3; i++) await ctx.mcpReq.log('info', `log ${i}`, 'bridge');
    return text('logged');
  });
  const extraTool = server.registerTool('extra', { description: 'comes and goes' }, async () => text('extra'));
  if (!state.extra) extraTool.disable();
  server.registerTool('change_tools', { description: 'adds or removes the tool extra' }, async () => {
    state.extra = !state.extra;
    if (published) published.notify.toolsChanged();
    else if (state.extra) extraTool.enable();
    else extraTool.disable();
    return text(state.extra ? 'added' : 'removed');
  });
  server.registerTool('touch', { description: `changes ${watched}` }, async () => {
    state.touched++;
    if (published) published.notify.resourceUpdated(watched);
    else if (context.era === 'modern' || subscribed.has(watched)) await server.server.sendResourceUpdated({ uri: watched });
    return text(`touched ${state.touched}`);
  });
}

function addContent(server) {
  server.registerTool('echo', { description: 'repeats', inputSchema: z.object({ text: z.string() }) }, async (args) => text(args.text));
  server.registerTool('slow', { description: 'takes its time', inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, ctx) => {
    state.cancelled = !(await sleep(ms, ctx.mcpReq.signal));
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
    { description: 'greets', argsSchema: z.object({ name: completable(z.string(), (v) => names.filter((n) => n.startsWith(v))) }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}` } }] }),
  );
}

const flags = parseFlags(process.argv.slice(2));
const modernOnly = flags.era !== 'both';
const complain = (err) => process.stderr.write(`${err.message}\n`);
if (flags.capabilities) {
  const cannot = { sse: 'the SDK serves no HTTP+SSE', 'legacy sessions over HTTP': 'createMcpHandler serves legacy clients without a session' };
  console.log(JSON.stringify({ name: 'ts-v2', eras: ['modern', 'both'], transports: ['stdio', 'http'], cannot }));
} else if (flags.http) {
  published = createMcpHandler(build, { legacy: modernOnly ? 'reject' : 'stateless', onerror: complain });
  listen(createServer(toNodeHandler(published)), flags.http, '/mcp');
} else {
  serveStdio(build, { legacy: modernOnly ? 'reject' : 'serve', onerror: complain });
}
