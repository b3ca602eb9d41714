// Says what a Node framework makes of MCP servers: as observe.py, which has the arguments and the output.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

function plain(value) {
  if (typeof value === 'string') {
    return value.length <= 4000 ? value : `${value.length} characters, ${createHash('sha256').update(value).digest('hex').slice(0, 12)}`;
  }
  if (value instanceof Error) {
    return { raised: value.name, message: plain(value.message) };
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (value instanceof Uint8Array) {
    return { bytes: Buffer.from(value).toString('base64') };
  }
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).filter(([, v]) => typeof v !== 'function' && v !== undefined).map(([k, v]) => [k, plain(v)]));
  }
  return value;
}

const command = (server) => ({ command: server.stdio[0], args: server.stdio.slice(1) });

const frameworks = {
  async mastra(server, use) {
    const { MCPClient } = await import('@mastra/mcp');
    const to = server.http ? { url: new URL(server.http) } : command(server);
    const client = new MCPClient({ id: `${server.way} ${server.set}`, servers: { awk: to }, timeout: 60000 });
    try {
      const tools = await client.listTools();
      return await use(
        Object.entries(tools).map(([name, t]) => ({
          name,
          description: t.description,
          schema: t.inputSchema?.['~standard']?.jsonSchema?.input?.({ target: 'draft-07' }) ?? t.inputSchema,
          call: (args) => t.execute(args, {}),
        })),
      );
    } finally {
      await client.disconnect();
    }
  },

  async openai(server, use) {
    const { Agent, MCPServerStdio, MCPServerStreamableHttp, RunContext, getAllMcpTools } = await import('@openai/agents');
    const to = server.http ? new MCPServerStreamableHttp({ url: server.http }) : new MCPServerStdio(command(server));
    await to.connect();
    try {
      const runContext = new RunContext({});
      const tools = await getAllMcpTools({ mcpServers: [to], runContext, agent: new Agent({ name: 'a' }) });
      return await use(
        tools.map((t) => ({
          name: t.name,
          description: t.description,
          schema: { parameters: t.parameters, strict: t.strict },
          call: (args) => t.invoke(runContext, JSON.stringify(args)),
        })),
      );
    } finally {
      await to.close();
    }
  },

  async genai(server, use) {
    const { mcpToTool } = await import('@google/genai');
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client({ name: 'genai', version: '1' });
    await client.connect(server.http ? new StreamableHTTPClientTransport(new URL(server.http)) : new StdioClientTransport(command(server)));
    try {
      const callable = mcpToTool(client);
      const { functionDeclarations } = await callable.tool();
      return await use(
        functionDeclarations.map((t) => ({
          name: t.name,
          description: t.description,
          schema: t,
          call: (args) => callable.callTool([{ name: t.name, args }]),
        })),
      );
    } finally {
      await client.close();
    }
  },
};

const inspected = ['nested', 'result-image', 'result-error']; // each takes a process

frameworks.inspector = async (server, use) => {
  const file = `${process.argv[3]}.${server.way}.${server.set}.json`;
  writeFileSync(file, JSON.stringify({ mcpServers: { awk: server.http ? { type: 'streamable-http', url: server.http } : command(server) } }));
  const run = (...flags) => {
    const ran = spawnSync(process.execPath, [process.env.INSPECTOR, '--cli', '--config', file, '--server', 'awk', ...flags], { encoding: 'utf8' });
    if (ran.stdout === '') {
      throw new Error(ran.stderr);
    }
    return JSON.parse(ran.stdout);
  };
  return await use(
    run('--method', 'tools/list').tools.map((t) => ({
      name: t.name,
      description: t.description,
      schema: t,
      call: (args, key) =>
        inspected.includes(key) ? run('--method', 'tools/call', '--tool-name', t.name, ...Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${JSON.stringify(v)}`])) : undefined,
    })),
  );
};

async function observe(tools, given) {
  const seen = {};
  for (const [position, tool] of tools.entries()) {
    const key = /\[([a-z][a-z0-9-]*)\] /.exec(tool.description ?? '')?.[1] ?? `number ${position}`;
    let result;
    try {
      result = await tool.call(given[key] ?? {}, key);
    } catch (error) {
      result = error;
    }
    seen[key] = { name: tool.name, description: tool.description, schema: plain(tool.schema), result: plain(result) };
  }
  return { tools: seen };
}

const print = console.log;
console.log = console.info = console.debug = console.error;
for (const server of JSON.parse(readFileSync(process.argv[3], 'utf8'))) {
  let seen;
  try {
    seen = await frameworks[process.argv[2]](server, (tools) => observe(tools, server.arguments));
  } catch (error) {
    seen = { failed: plain(error) };
  }
  print(JSON.stringify({ way: server.way, set: server.set, ...seen }));
}
process.exit(0);
