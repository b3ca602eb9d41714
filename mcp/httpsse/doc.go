// Package httpsse implements the HTTP+SSE transport of 2024-11-05 (basic/transports), which
// Streamable HTTP replaced. The server sends all messages on one stream, and the client posts all
// messages to a URL. Use it for clients and servers that support no newer transport.
//
// [Handler] serves any [mcp.Handler] over this transport, and [Client] connects to such a server.
package httpsse
