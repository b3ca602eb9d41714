// What the login clients of both TypeScript SDKs share: a user's session with one server. Where somebody has to log in
// the page is printed as "open URL", and the code comes to a loopback port.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export class Session {
  constructor(name) {
    this.name = name;
    this.logins = 0;
    this.saves = 0;
  }

  async listen() {
    this.server = http.createServer((request, response) => {
      const url = new URL(request.url, 'http://127.0.0.1');
      response.end('You can close this page.');
      this.arrived?.(url.searchParams);
    });
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    this.redirectUrl = `http://127.0.0.1:${this.server.address().port}/callback`;
  }

  get clientMetadata() {
    return {
      client_name: this.name,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() {
    return 'the state';
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens) {
    this.saves++;
    this.saved = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  redirectToAuthorization(url) {
    this.logins++;
    this.callback = new Promise((arrived) => (this.arrived = arrived));
    console.log(`open ${url}`);
  }
}

// run logs in, lists tools and calls some, one after the other; after the first call it waits for the end of the access token.
// connect makes a client of the SDK with a new transport, and finish gives the transport what came back from a login.
export async function run(name, connect, Unauthorized, finish) {
  const [url, given, ...calls] = process.argv.slice(2);
  const session = new Session(name);
  await session.listen();
  const asks = (error) => error instanceof Unauthorized || error.cause instanceof Unauthorized;
  const { client, transport } = await connect(new URL(url), session).catch(async (error) => {
    if (!asks(error)) throw error;
    await finish(error.transport, await session.callback);
    return connect(new URL(url), session);
  });
  const call = async (tool) => (await client.callTool({ name: tool, arguments: JSON.parse(given) })).content[0].text;
  const callWithLogin = (tool) =>
    call(tool).catch(async (error) => {
      if (!asks(error)) throw error;
      await finish(transport, await session.callback);
      return call(tool);
    });
  const { tools } = await client.listTools();
  const said = [];
  let gaveUp = false;
  for (const tool of calls) {
    if (said.length === 1) await delay((session.saved.expires_in + 1) * 1000);
    said.push(
      await callWithLogin(tool).catch(async (error) => {
        if (error.code !== 403) throw error;
        gaveUp = true; // v1 renews its token where it should log in; without a refresh token it does, once something else went well
        await client.listTools();
        session.saved = { ...session.saved, refresh_token: undefined };
        return callWithLogin(tool);
      }),
    );
  }
  await client.close();
  session.server.close();
  console.log(JSON.stringify({ tools: tools.length, said, logins: session.logins, refreshed: session.saves - session.logins, gaveUp }));
  process.exit(0);
}
