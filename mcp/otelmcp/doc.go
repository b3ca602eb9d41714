// Package otelmcp traces MCP with OpenTelemetry: [Server] makes a span of every
// request that a Handler answers, [Client] of every request that a client makes,
// and the trace goes with the request, in its _meta, over every transport and
// every revision of the protocol (2026-07-28 basic/index, OpenTelemetry trace
// context).
//
//	h := mcp.Chain(server, otelmcp.Server(otelmcp.Options{}))
//	c, err := mcp.DialWith(ctx, transport, mcp.ClientOptions{Middleware: []mcp.Middleware{otelmcp.Client(otelmcp.Options{})}})
//
// Spans follow OpenTelemetry's semantic conventions for MCP, which are still in
// development: they are called after the method and, where there is one, the
// tool or prompt, and never hold arguments or results. They have the id of the
// JSON-RPC request, the transport and the address of the other side, where a transport
// carries the request. mcp.session.id is a digest of the session's id over HTTP: the id
// itself gives the use of the session. A subscriptions/listen, which can last for
// days, has no span.
//
// Only OpenTelemetry's API is imported, and by this package alone: a program
// without it has no telemetry in its build, and one with it chooses exporters.
package otelmcp
