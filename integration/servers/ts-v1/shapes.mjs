// A server whose tools are written as they go over the wire: schemas with everything that JSON Schema has, each kind of
// content, and each request and notification that a call can bring. ../../README.md lists its tools.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { sleep, text } from './flags.mjs';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const plain = { type: 'object', properties: {} };
const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
};

const schemas = {
  type: 'object',
  properties: {
    place: { $ref: '#/$defs/place' },
    when: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
    unit: { type: 'string', enum: ['C', 'F'], default: 'C' },
    count: { type: ['integer', 'null'], minimum: 1, maximum: 10 },
    levels: { type: 'array', items: { enum: [1, 2, 3] }, minItems: 1, uniqueItems: true },
    whatever: true,
    rest: { type: 'object', additionalProperties: { type: 'number' } },
    shape: { oneOf: [{ type: 'object', properties: { side: { type: 'number' } } }, { const: 'none' }] },
  },
  required: ['place'],
  additionalProperties: false,
  $defs: { place: { type: 'object', properties: { name: { type: 'string', pattern: '^[A-Z]' }, near: { $ref: '#/$defs/place' } } } },
};

const tools = {
  echo: {
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    call: (args) => text(args.text),
  },
  schemas: {
    title: 'Every kind of schema',
    inputSchema: schemas,
    annotations: { title: 'Every kind', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    call: (args) => text(JSON.stringify(args)),
  },
  structured: {
    inputSchema: plain,
    outputSchema: weather,
    call: () => ({ ...text('3 degrees in Oslo'), structuredContent: { city: 'Oslo', degrees: 3 } }),
  },
  structured_only: {
    inputSchema: plain,
    outputSchema: weather,
    call: () => ({ content: [], structuredContent: { city: 'Oslo', degrees: 3.5 } }),
  },
  image: { inputSchema: plain, call: () => ({ content: [{ type: 'image', data: pixel, mimeType: 'image/png' }, ...text('a picture').content] }) },
  audio: { inputSchema: plain, call: () => ({ content: [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }] }) },
  link: { inputSchema: plain, call: () => ({ content: [{ type: 'resource_link', uri: 'test://text', name: 'text', mimeType: 'text/plain' }] }) },
  embedded: {
    inputSchema: plain,
    call: () => ({
      content: [
        { type: 'resource', resource: { uri: 'test://text', mimeType: 'text/plain', text: 'words' } },
        { type: 'resource', resource: { uri: 'test://blob', mimeType: 'image/png', blob: pixel } },
        { type: 'text', text: 'for the user', annotations: { audience: ['user'], priority: 0.5 } },
      ],
    }),
  },
  fails: { inputSchema: plain, call: () => ({ ...text('it failed'), isError: true }) },
  refuses: {
    inputSchema: plain,
    call: () => {
      throw new McpError(-32050, 'refused', { why: 'it always does' });
    },
  },
  progress: {
    inputSchema: plain,
    call: async (_, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (let i = 1; i <= 3 && progressToken !== undefined; i++) {
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: i, total: 3, message: `step ${i}` } });
        await sleep(i < 3 ? 20 : 200, extra.signal); // the TypeScript clients drop progress that is read together with the result
      }
      return text('progressed');
    },
  },
  logs: {
    inputSchema: plain,
    call: async (_, extra) => {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'warning', logger: 'shapes', data: { said: 'log 1' } } });
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'warning', data: 'log 2' } });
      return text('logged');
    },
  },
  ask: {
    inputSchema: plain,
    call: async (_, extra, server) => {
      const requestedSchema = {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Your name', minLength: 1 },
          size: { type: 'string', enum: ['small', 'large'], default: 'small' },
          age: { type: 'integer', minimum: 0 },
          confirm: { type: 'boolean' },
        },
        required: ['name'],
      };
      const answer = await server.elicitInput({ message: 'Who are you?', requestedSchema }, { relatedRequestId: extra.requestId });
      return text(JSON.stringify(answer, ['action', 'content', 'name', 'size', 'age', 'confirm']));
    },
  },
  sample: {
    inputSchema: plain,
    call: async (_, extra, server) => {
      const params = {
        messages: [{ role: 'user', content: { type: 'text', text: 'Say something.' } }],
        systemPrompt: 'Be brief.',
        modelPreferences: { hints: [{ name: 'small' }], costPriority: 0.9 },
        temperature: 0.2,
        maxTokens: 100,
      };
      const answer = await server.createMessage(params, { relatedRequestId: extra.requestId });
      return text(`sampled: ${answer.content.text} of ${answer.model}, ${answer.stopReason}`);
    },
  },
  change_tools: {
    inputSchema: plain,
    call: async (_, __, server, state) => {
      state.extra = !state.extra;
      await server.sendToolListChanged();
      return text(state.extra ? 'added' : 'removed');
    },
  },
};

const prompts = {
  greet: {
    arguments: [{ name: 'name', description: 'who is greeted', required: true }],
    get: ({ name }) => [{ role: 'user', content: { type: 'text', text: `Hello, ${name}` } }],
  },
  picture: {
    get: () => [
      { role: 'user', content: { type: 'image', data: pixel, mimeType: 'image/png' } },
      { role: 'assistant', content: { type: 'resource', resource: { uri: 'test://text', mimeType: 'text/plain', text: 'words' } } },
    ],
  },
};

const contents = {
  'test://text': { mimeType: 'text/plain', text: 'words' },
  'test://blob': { mimeType: 'image/png', blob: pixel },
};

export function shapes() {
  const server = new Server(
    { name: 'shapes', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, completions: {}, logging: {} }, instructions: 'shapes of results' },
  );
  const state = { extra: false };
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const all = Object.entries(tools).map(([name, { call, ...tool }]) => ({ name, description: `the tool ${name}`, ...tool }));
    return { tools: state.extra ? [...all, { name: 'extra', inputSchema: plain }] : all };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = tools[params.name];
    if (!tool) throw new McpError(-32602, `unknown tool ${params.name}`);
    return tool.call(params.arguments ?? {}, extra, server, state);
  });
  server.setRequestHandler(SetLevelRequestSchema, async () => ({}));
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: Object.keys(contents).map((uri) => ({ uri, name: uri.slice(7), title: `The ${uri.slice(7)}`, mimeType: contents[uri].mimeType, size: 5 })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: [{ uriTemplate: 'test://item/{id}', name: 'item', description: 'one item', mimeType: 'text/plain' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    if (uri.startsWith('test://item/')) return { contents: [{ uri, mimeType: 'text/plain', text: `item ${uri.slice(12)}` }] };
    if (!contents[uri]) throw new McpError(-32002, 'no such resource', { uri });
    return { contents: [{ uri, ...contents[uri] }] };
  });
  server.setRequestHandler(ListPromptsRequestSchema, async () => ({
    prompts: Object.entries(prompts).map(([name, { get, ...prompt }]) => ({ name, description: `the prompt ${name}`, ...prompt })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }) => ({ description: 'a prompt', messages: prompts[params.name].get(params.arguments) }));
  server.setRequestHandler(CompleteRequestSchema, async ({ params }) => ({
    completion: { values: ['alice', 'albert', 'bob'].filter((name) => name.startsWith(params.argument.value)), total: 3, hasMore: false },
  }));
  return server;
}
