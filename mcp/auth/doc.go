// Package auth protects MCP servers over HTTP with access tokens (basic/authorization). A [Guard]
// checks the token of each request, and names the authorization servers when it refuses a request.
// It also serves the metadata by which clients find these servers (RFC 9728). A token is checked by
// its signature ([JWT]) or by a request to its issuer ([Introspection]). A token that is bound to a
// key or a certificate is accepted only from a client that has it (RFC 9449, RFC 8705). Tokens are
// never passed on.
package auth
