// Package oauth gets access tokens for MCP servers that want authorization over HTTP
// (basic/authorization), and sends them. A [Client] finds out who gives tokens for a server, makes itself known
// there, has the user log in, keeps the tokens, and refreshes them before they expire; its Transport does all
// of that when a server asks for it.
package oauth
