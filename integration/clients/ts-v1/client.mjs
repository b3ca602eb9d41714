// A probing client on the TypeScript SDK v1 (@modelcontextprotocol/sdk): legacy only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { run } from './script.mjs';

function transportFor(flags) {
  if (flags.http) return new StreamableHTTPClientTransport(new URL(flags.http));
  if (flags.sse) return new SSEClientTransport(new URL(flags.sse));
  const [command, ...args] = flags.stdio;
  return new StdioClientTransport({ command, args, env: { ...getDefaultEnvironment(), ...process.env }, stderr: 'inherit' });
}

// The SDK always offers its newest revision; an older one is written into the offer.
function offer(transport, revision) {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === 'initialize') message.params.protocolVersion = revision;
    return send(message, options);
  };
}

await run(async (flags, probe) => {
  const capabilities = probe.capabilities();
  const client = new Client(
    { name: 'probe-ts-v1', version: '1.0.0' },
    { capabilities },
  );
  if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, async (r) => probe.elicit(r.params));
  if (capabilities.sampling) client.setRequestHandler(CreateMessageRequestSchema, async (r) => probe.sample(r.params));
  if (capabilities.roots) client.setRequestHandler(ListRootsRequestSchema, async () => probe.roots());
  client.fallbackNotificationHandler = async (n) => probe.event(n.method, n.params);

  const transport = transportFor(flags);
  if (flags.revision) offer(transport, flags.revision);
  let revision;
  const init = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (v) => {
    revision = v;
    init?.(v);
  };
  await client.connect(transport);

  const lists = {
    tools: () => client.listTools().then((r) => r.tools),
    resources: () => client.listResources().then((r) => r.resources),
    templates: () => client.listResourceTemplates().then((r) => r.resourceTemplates),
    prompts: () => client.listPrompts().then((r) => r.prompts),
  };
  return {
    revision,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    list: (what) => lists[what](),
    call: (step, options) =>
      client.callTool({ name: step.name, arguments: step.arguments ?? {} }, undefined, {
        ...options,
        ...(step.progress && { onprogress: (p) => probe.event('notifications/progress', p) }),
      }),
    read: (uri, options) => client.readResource({ uri }, options),
    prompt: (name, args, options) => client.getPrompt({ name, arguments: args }, options),
    complete: (ref, argument, options) => client.complete({ ref, argument }, options),
    ping: (_, options) => client.ping(options),
    setLevel: (level, options) => client.setLoggingLevel(level, options),
    subscribe: (uri, options) => client.subscribeResource({ uri }, options),
    unsubscribe: (uri, options) => client.unsubscribeResource({ uri }, options),
    close: async () => {
      await transport.terminateSession?.();
      await client.close();
    },
  };
});
