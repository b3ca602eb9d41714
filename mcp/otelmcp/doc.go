// Package otelmcp traces MCP with OpenTelemetry. [Server] makes a span for each request that a
// Handler gets, and [Client] makes one for each request that a client sends. The trace context is
// sent in the request's _meta, over every transport and in every revision of the protocol
// (2026-07-28 basic/index, OpenTelemetry trace context).
//
//	h := mcp.Chain(server, otelmcp.Server(otelmcp.Options{}))
//	c, err := mcp.DialWith(ctx, transport, mcp.ClientOptions{Middleware: []mcp.Middleware{otelmcp.Client(otelmcp.Options{})}})
//
// Spans follow OpenTelemetry's semantic conventions for MCP, which are still in development. Their
// names consist of the method and, if there is one, the tool or prompt. They never contain
// arguments or results. If a transport sends the request, a span has the id of the JSON-RPC
// request, the transport and the address of the other side. mcp.session.id is a digest of the
// session's id over HTTP; with the id itself, a reader could use the session. A
// subscriptions/listen has no span, as it can last for days.
//
// Only this package imports OpenTelemetry, and only its API. So a program that does not use this
// package has no telemetry in its build. A program that does must choose exporters.
package otelmcp
