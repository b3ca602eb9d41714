// An MCP server that is protected by the TypeScript SDK's own authorization server, with the provider of its examples, which
// lets everybody in. An access token is good for one call of a tool, and a refresh token once; /counts says how often tokens
// were renewed, and how many were revoked.
//
//	node server.mjs ADDRESS
import { randomUUID } from 'node:crypto';
import express from 'express';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const origin = new URL(`http://${process.argv[2]}`);
const resource = new URL('/mcp', origin);
const counts = { renewed: 0, revoked: 0 };

class Provider extends DemoInMemoryAuthProvider {
  refresh = new Map();

  give(tokens, scopes) {
    const refresh = randomUUID();
    this.refresh.set(refresh, scopes);
    return { ...tokens, refresh_token: refresh };
  }

  async exchangeAuthorizationCode(client, code, verifier) {
    const tokens = await super.exchangeAuthorizationCode(client, code, verifier);
    return this.give(tokens, tokens.scope);
  }

  async exchangeRefreshToken(client, refresh) {
    if (!this.refresh.has(refresh)) throw new InvalidGrantError('the refresh token is not known');
    const scope = this.refresh.get(refresh);
    this.refresh.delete(refresh);
    counts.renewed++;
    const token = randomUUID();
    this.tokens.set(token, { token, clientId: client.client_id, scopes: scope.split(' ').filter(Boolean), resource, expiresAt: Date.now() + 3600_000, type: 'access' });
    return this.give({ access_token: token, token_type: 'bearer', expires_in: 3600, scope }, scope);
  }

  async verifyAccessToken(token) {
    if (!this.tokens.has(token)) throw new InvalidTokenError('the token is not known'); // the example's error is taken for its own fault
    return super.verifyAccessToken(token);
  }

  async revokeToken(_client, { token }) {
    if (this.refresh.delete(token) || this.tokens.delete(token)) counts.revoked++;
  }
}

const provider = new Provider((asked) => asked?.href === resource.href);
const app = express();
app.use(mcpAuthRouter({ provider, issuerUrl: origin, resourceServerUrl: resource, scopesSupported: ['tools'] }));
app.get('/counts', (_, response) => response.json(counts));
app.all('/mcp', requireBearerAuth({ verifier: provider, requiredScopes: ['tools'], resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource) }), express.json(), async (request, response) => {
  if (request.body?.method === 'tools/call') provider.tokens.delete(request.auth.token);
  const server = new McpServer({ name: 'authorized', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }) => ({ content: [{ type: 'text', text: `echo: ${text}` }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.listen(origin.port, origin.hostname);
