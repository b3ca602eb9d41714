// A probing client on the TypeScript SDK v2 (@modelcontextprotocol/client): both eras.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { run } from './script.mjs';

const modern = '2026-07-28';
const logLevelKey = 'io.modelcontextprotocol/logLevel';

function transportFor(flags) {
  if (flags.http) return new StreamableHTTPClientTransport(new URL(flags.http));
  if (flags.sse) return new SSEClientTransport(new URL(flags.sse));
  const [command, ...args] = flags.stdio;
  return new StdioClientTransport({ command, args, env: { ...getDefaultEnvironment(), ...process.env }, stderr: 'inherit' });
}

function negotiation(revision) {
  if (!revision) return { versionNegotiation: { mode: 'auto' } };
  if (revision === modern) return { versionNegotiation: { mode: { pin: modern } } };
  return { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [revision] };
}

// Subscriptions remembers what was asked for, and listens with all of it: the modern
// revision has one stream with a filter where the legacy ones have a call for each resource.
class Subscriptions {
  constructor(client) {
    this.client = client;
    this.uris = new Set();
  }

  async reopen(options) {
    await this.stream?.close();
    this.stream = await this.client.listen(
      { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [...this.uris] },
      options,
    );
  }
}

await run(async (flags, probe) => {
  const capabilities = probe.capabilities();
  const client = new Client(
    { name: 'probe-ts-v2', version: '1.0.0' },
    {
      capabilities,
      ...negotiation(flags.revision),
    },
  );
  if (capabilities.elicitation) client.setRequestHandler('elicitation/create', async (r) => probe.elicit(r.params));
  if (capabilities.sampling) client.setRequestHandler('sampling/createMessage', async (r) => probe.sample(r.params));
  if (capabilities.roots) client.setRequestHandler('roots/list', async () => probe.roots());
  client.fallbackNotificationHandler = async (n) => probe.event(n.method, n.params);

  const transport = transportFor(flags);
  await client.connect(transport);
  const isModern = client.getProtocolEra() === 'modern';
  const subscriptions = new Subscriptions(client);
  if (isModern) await subscriptions.reopen({}).catch((err) => probe.event('listen failed', { message: err.message }));

  let level;
  const meta = () => (level ? { _meta: { [logLevelKey]: level } } : {});
  const fresh = { cacheMode: 'refresh' };
  const lists = {
    tools: () => client.listTools(undefined, fresh).then((r) => r.tools),
    resources: () => client.listResources(undefined, fresh).then((r) => r.resources),
    templates: () => client.listResourceTemplates(undefined, fresh).then((r) => r.resourceTemplates),
    prompts: () => client.listPrompts(undefined, fresh).then((r) => r.prompts),
  };
  const resubscribe = (verb) => async (uri, options) => {
    if (!isModern) return verb === 'add' ? client.subscribeResource({ uri }, options) : client.unsubscribeResource({ uri }, options);
    subscriptions.uris[verb](uri);
    return subscriptions.reopen(options);
  };
  return {
    revision: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    list: (what) => lists[what](),
    call: (step, options) =>
      client.callTool({ name: step.name, arguments: step.arguments ?? {}, ...meta() }, {
        ...options,
        ...(step.progress && { onprogress: (p) => probe.event('notifications/progress', p) }),
      }),
    read: (uri, options) => client.readResource({ uri }, { ...options, ...fresh }),
    prompt: (name, args, options) => client.getPrompt({ name, arguments: args }, options),
    complete: (ref, argument, options) => client.complete({ ref, argument }, options),
    // The modern revision has no ping; server/discover is the call that asks for nothing.
    ping: (_, options) => (isModern ? client.discover(options) : client.ping(options)),
    setLevel: async (l, options) => {
      level = l;
      if (!isModern) await client.setLoggingLevel(l, options);
    },
    subscribe: resubscribe('add'),
    unsubscribe: resubscribe('delete'),
    close: async () => {
      await subscriptions.stream?.close();
      await transport.terminateSession?.();
      await client.close();
    },
  };
});
