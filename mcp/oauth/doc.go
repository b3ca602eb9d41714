// Package oauth obtains access tokens for MCP servers that require authorization over HTTP
// (basic/authorization), and sends them. A [Client] finds the authorization server of an MCP
// server, registers with it, and sends the user to its login page. It stores the tokens and
// refreshes them before they expire. Its Transport does all of this when a server requires a token.
package oauth
