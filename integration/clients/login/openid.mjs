// A client on openid-client that logs in with what the SDKs cannot: it signs who it is (private_key_jwt), with a key that it
// registers, and binds its tokens to another (DPoP). It says what login.mjs says.
import * as openid from 'openid-client';
import { Session } from './login.mjs';

const [, , at, args, tool] = process.argv;
const server = new URL(at);
const session = new Session('openid-client');
await session.listen();

const key = await openid.randomDPoPKeyPair('ES256', { extractable: true });
const jwk = { ...(await crypto.subtle.exportKey('jwk', key.publicKey)), kid: 'the key', alg: 'ES256', use: 'sig' };
const signs = openid.PrivateKeyJwt({ key: key.privateKey, kid: jwk.kid });
const config = await openid.dynamicClientRegistration(
  new URL(server.origin),
  {
    client_name: session.name,
    redirect_uris: [session.redirectUrl],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
  },
  signs,
  { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
);
const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'));

const verifier = openid.randomPKCECodeVerifier();
session.redirectToAuthorization(
  openid.buildAuthorizationUrl(config, {
    redirect_uri: session.redirectUrl,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: session.state(),
    resource: at,
    dpop_jkt: await DPoP.calculateThumbprint(),
  }),
);
const back = new URL(session.redirectUrl);
back.search = await session.callback;
let tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier, expectedState: session.state() }, { resource: at }, { DPoP });

let calls = 0;
let mcpSession;
async function post(method, params, notification) {
  const message = { jsonrpc: '2.0', method, params, ...(notification ? {} : { id: ++calls }) };
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  if (mcpSession) headers.set('mcp-session-id', mcpSession);
  const response = await openid.fetchProtectedResource(config, tokens.access_token, server, 'POST', JSON.stringify(message), headers, { DPoP });
  mcpSession ??= response.headers.get('mcp-session-id');
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${response.status} ${text}`);
  if (notification) return undefined;
  const data = text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: {')).slice('data: '.length);
  return JSON.parse(data).result;
}
const call = async () => (await post('tools/call', { name: tool, arguments: JSON.parse(args) })).content[0].text;

await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: session.name, version: '1' } });
await post('notifications/initialized', {}, true);
const { tools } = await post('tools/list', {});
const first = await call();

const bearer = await fetch(server, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' } });
if (tokens.token_type !== 'dpop' || bearer.status !== 401) throw new Error(`a token of type ${tokens.token_type}, as a bearer: ${bearer.status}`);

tokens = await openid.refreshTokenGrant(config, tokens.refresh_token, { resource: at }, { DPoP });
const second = await call();
await openid.tokenRevocation(config, tokens.refresh_token);
const ended = await openid.refreshTokenGrant(config, tokens.refresh_token, {}, { DPoP }).then(() => 'a token', (error) => error.error);
if (ended !== 'invalid_grant') throw new Error(`a refresh after the end: ${ended}`);
console.log(JSON.stringify({ tools: tools.length, said: [first, second], logins: session.logins, refreshed: 1 }));
process.exit(0);
