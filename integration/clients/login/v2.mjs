// A client on the TypeScript SDK v2 that logs in; see login.mjs.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { run } from './login.mjs';

async function connect(url, session) {
  const client = new Client({ name: 'login-ts-v2', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: session });
  await client.connect(transport).catch((error) => {
    error.transport = transport;
    throw error;
  });
  return { client, transport };
}

await run('TypeScript SDK v2', connect, UnauthorizedError, (transport, came) => transport.finishAuth(came));
