// Package auth protects MCP servers over HTTP with access tokens (basic/authorization): a [Guard] checks the token of
// each request, says in its refusals which authorization servers give tokens, and publishes the metadata that
// clients find them by (RFC 9728). Tokens are checked by their signature ([JWT]) or by asking whoever gave them
// ([Introspection]); those that are bound to a key or a certificate need it (RFC 9449, RFC 8705). No token is
// passed on.
package auth
