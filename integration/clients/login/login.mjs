// What the login clients of both TypeScript SDKs share: a user's session with one server. Where somebody has to log in
// the page is printed as "open URL", and the code comes to a loopback port.
import http from 'node:http';

export class Session {
  constructor(name) {
    this.name = name;
    this.logins = 0;
    this.refreshed = 0;
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
    if (this.saved) this.refreshed++;
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

// run logs in, lists and calls, has the access token refused, and calls again. connect makes a client of the SDK with a
// new transport, and finish gives the transport what came back from the login.
export async function run(name, connect, Unauthorized, finish) {
  const session = new Session(name);
  await session.listen();
  let { client, transport } = await connect(new URL(process.argv[2]), session).catch(async (error) => {
    if (!(error.cause instanceof Unauthorized) && !(error instanceof Unauthorized)) throw error;
    const came = await session.callback;
    await finish(error.transport, came);
    return connect(new URL(process.argv[2]), session);
  });
  const { tools } = await client.listTools();
  const call = async () => (await client.callTool({ name: process.argv[3], arguments: JSON.parse(process.argv[4]) })).content[0].text;
  const first = await call();
  session.saved = { ...session.saved, access_token: session.saved.access_token.slice(0, -8) + 'AAAAAAAA' };
  const second = await call();
  await client.close();
  session.server.close();
  console.log(JSON.stringify({ tools: tools.length, first, second, logins: session.logins, refreshed: session.refreshed }));
  process.exit(0);
}
