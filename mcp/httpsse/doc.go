// Package httpsse carries MCP over the HTTP+SSE transport of 2024-11-05
// (basic/transports), which Streamable HTTP replaced: a stream on which
// everything from the server arrives, and a URL to which everything from the
// client is posted. Use it for clients and servers that know nothing newer.
//
// [Handler] serves any [mcp.Handler] that way, [Client] reaches such a server.
package httpsse
