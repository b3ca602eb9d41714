// A certified authorization server (npm oidc-provider), for users whose every name and password is good.
//
//	KEY=JWK node provider.mjs ADDRESS [TTL] [opaque]
//
// KEY is the public key of the client "keyed". A token endpoint that was asked with a refresh token answers after HOLD ms.
// GATEWAY, if set, is where users come back to of the client "gateway", for whom the users are colleagues, of the group eng and with an address that
// only userinfo names; after a POST to /disable nobody is. A POST to /logout has the gateway end the last login there (back-channel logout).
// TTL is for how many seconds an access token lasts, IDENTITY_TTL an ID token. Tokens are JWTs, or opaque; introspection, revocation, dynamic
// registration, resource indicators and DPoP are on; /counts says how many tokens were given. Refresh tokens rotate, and one that is used twice ends the login.
import { Provider } from 'oidc-provider'

const [address, ttl = '3600', format = 'jwt'] = process.argv.slice(2)
const issuer = `http://${address}`
const hour = 3600
const native = { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'], grant_types: ['authorization_code', 'refresh_token'] }
const key = JSON.parse(process.env.KEY ?? 'null')
const hold = Number(process.env.HOLD ?? 0)

const gateway = process.env.GATEWAY
let disabled = false
const colleagues = gateway && {
  claims: { email: ['email', 'email_verified'], groups: ['groups'] },
  findAccount: (_ctx, sub) => disabled ? undefined : { accountId: sub, claims: () => ({ sub, email: 'Ada@corp.example', email_verified: true, groups: ['all', 'eng'] }) },
}

const provider = new Provider(issuer, {
  clients: [
    { client_id: 'server', client_secret: 'the secret of the server', redirect_uris: [], response_types: [], grant_types: [] },
    { client_id: 'machine', client_secret: 'the secret of the machine', redirect_uris: [], response_types: [], grant_types: ['client_credentials'], scope: 'read write' },
    { client_id: 'known', client_secret: 'the secret of the known', ...native },
    ...(gateway ? [{ client_id: 'gateway', client_secret: 'the secret of the gateway', ...native, redirect_uris: [gateway], backchannel_logout_uri: new URL('/oauth/backchannel-logout', gateway).href, backchannel_logout_session_required: true }] : []),
    ...(key ? [{ client_id: 'keyed', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] }, ...native }] : []),
  ],
  scopes: ['openid', 'offline_access', 'read', 'write', 'admin'],
  ...colleagues,
  rotateRefreshToken: true,
  ttl: { AccessToken: Number(ttl), ClientCredentials: Number(ttl), RefreshToken: 24 * hour, IdToken: Number(process.env.IDENTITY_TTL ?? hour), Grant: 24 * hour, Session: 24 * hour, Interaction: hour },
  jwks: undefined,
  fetch: (url, { dispatcher, ...options }) => fetch(url, options), // its own dispatcher reaches no private addresses
  cookies: { keys: ['a key for tests'] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    clientCredentials: { enabled: true },
    dPoP: { enabled: true },
    backchannelLogout: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, one) => one,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'read write admin', audience: resource, accessTokenFormat: format, accessTokenTTL: Number(ttl),
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})
let session // of the last login of the gateway
provider.on('grant.success', (ctx) => {
  const { AuthorizationCode: code } = ctx.oidc.entities
  if (code?.clientId === 'gateway') session = [code.accountId, code.sid]
})
const counts = { asked: 0, grants: 0, refreshes: 0, revoked: 0 } // asked: refreshes that began
provider.on('grant.success', (ctx) => {
  counts.grants++
  if (ctx.oidc.params.grant_type === 'refresh_token') counts.refreshes++
})
provider.on('grant.revoked', () => { counts.revoked++ })
provider.use(async (ctx, next) => {
  if (ctx.path === '/counts') ctx.body = counts
  else if (gateway && ctx.path === '/disable') {
    disabled = true
    ctx.body = 'done'
  }
  else if (gateway && ctx.path === '/logout') {
    await (await provider.Client.find('gateway')).backchannelLogout(...session)
    ctx.body = 'done'
  }
  else await next()
  if (ctx.oidc?.params?.grant_type === 'refresh_token') {
    counts.asked++
    if (hold) await new Promise((done) => setTimeout(done, hold)) // the old token holds no more, and nobody has the new one
  }
})
provider.on('server_error', (_ctx, err) => console.error(err))
const [host, port] = address.split(':')
provider.listen(Number(port), host)
