// Package mcp is the Model Context Protocol in Go: servers and clients that
// speak every revision of it, and whatever stands between them.
//
// Everything is a [Handler], which answers one request, as in net/http. A
// [Server] is a Handler made of registered tools, resources and prompts:
//
//	s := mcp.NewServer("weather", "1.0")
//	mcp.AddTool(s, "forecast", Forecast) // func(context.Context, In) (Report, error)
//	err := stdio.Serve(ctx, s)           // or http.Handle("/mcp", streamable.Handler(s))
//
// A [Client] asks one, wherever it is, and is a Handler itself, so that a server
// transport around a Client is a proxy:
//
//	c, err := mcp.Dial(ctx, command.New("npx", "-y", "some-server"))
//	report, err := mcp.Call[Report](ctx, c, "forecast", In{City: "Oslo"})
//
// A [Middleware] wraps a Handler on either side.
//
// Handlers know modern requests only: those of revision 2026-07-28 and later, with
// metadata on every request, and without a handshake and a session. Revisions
// before that are legacy: transports translate what such clients and servers
// say, in both directions, so that any client works with any server.
//
// In the middle of a call a tool can ask the client something with [Elicit],
// [Sample] and [Roots], and report to it with [Progress] and [Log]. Where the
// client responds only between two rounds of a request they return
// [ErrInputRequired]; a tool returns it too and runs again, from the top, when the
// response is there.
//
// Transports are packages of their own: stdio and command, streamable (Streamable
// HTTP), httpsse (HTTP+SSE of 2024-11-05, deprecated since 2025-03-26), stream
// (sockets, memory).
//
// Functions whose name ends in With take what is optional. Methods whose name
// begins with Add are for what a program knows when it is written, and panic at a
// mistake; those that begin with Set are for what comes from data, replace what
// is there, and return an error.
//
// The API may change until version 0.1.0. Roots, sampling and logging to clients
// are deprecated in revision 2026-07-28 (SEP-2577).
package mcp
