// A client on the TypeScript SDK v1 that logs in; see login.mjs.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { run } from './login.mjs';

async function connect(url, session) {
  const client = new Client({ name: 'login-ts-v1', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: session });
  await client.connect(transport).catch((error) => {
    error.transport = transport;
    throw error;
  });
  return { client, transport };
}

await run('TypeScript SDK v1', connect, UnauthorizedError, (transport, came) => transport.finishAuth(came.get('code')));
