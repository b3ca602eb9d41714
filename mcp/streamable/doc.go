// Package streamable implements MCP over Streamable HTTP (basic/transports/streamable-http).
//
// [Handler] serves any [mcp.Handler] at one URL to clients of all revisions at once. It serves
// modern clients request by request, and legacy ones in sessions with streams that can be resumed.
// [Client] connects to a server of either era, including one with only the older HTTP+SSE
// transport.
package streamable
