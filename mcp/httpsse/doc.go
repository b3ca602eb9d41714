// Package httpsse implements MCP over the HTTP+SSE transport of 2024-11-05 (basic/transports),
// which Streamable HTTP replaced. The server sends everything on one stream, and the client posts
// everything to a URL. Use it for clients and servers that support nothing newer.
//
// [Handler] serves any [mcp.Handler] over this transport, and [Client] connects to such a server.
package httpsse
