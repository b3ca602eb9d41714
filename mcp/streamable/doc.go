// Package streamable carries MCP over Streamable HTTP (basic/transports/streamable-http).
//
// [Handler] serves any [mcp.Handler] at one URL to clients of every revision at
// once: modern ones request by request, legacy ones in sessions with streams
// that can be resumed. [Client] reaches a server of either era, also one that
// only speaks the HTTP+SSE transport from before.
package streamable
