// Package streamable implements MCP over Streamable HTTP (basic/transports/streamable-http).
//
// [Handler] serves any [mcp.Handler] at one URL, to clients of all revisions at the same time. It
// handles each request of a modern client separately. Legacy clients have sessions, with streams
// that can be resumed. [Client] connects to a server of either era, even if the server supports
// only the older HTTP+SSE transport.
package streamable
