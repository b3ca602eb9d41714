// Package auth protects MCP servers over HTTP with access tokens (basic/authorization). A [Guard]
// checks the token of each request and names the authorization servers in its refusals. It
// publishes the metadata by which clients find these servers (RFC 9728). Tokens are checked by
// their signature ([JWT]) or by a request to their issuer ([Introspection]). Tokens bound to a key
// or a certificate need it (RFC 9449, RFC 8705). Tokens are never passed on.
package auth
