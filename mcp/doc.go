// Package mcp implements the Model Context Protocol: servers and clients for every revision, and
// middleware and proxies between them.
//
// The central type is [Handler], which handles one request, as in net/http. A [Server] is a Handler
// made of registered tools, resources and prompts:
//
//	s := mcp.NewServer("weather", "1.0")
//	mcp.AddTool(s, "forecast", Forecast) // func(context.Context, In) (Report, error)
//	err := stdio.Serve(ctx, s)           // or http.Handle("/mcp", streamable.Handler(s))
//
// A [Client] sends requests to a Handler in the same process or to a remote server. It is a Handler
// itself, so a server transport around a Client is a proxy:
//
//	c, err := mcp.Dial(ctx, command.New("npx", "-y", "some-server"))
//	report, err := mcp.Call[Report](ctx, c, "forecast", In{City: "Oslo"})
//
// A [Middleware] wraps a Handler on either side.
//
// Handlers support only modern requests, as in revision 2026-07-28 and later. These have metadata
// in every request, and no handshake or session. Earlier revisions are called legacy. The
// transports translate the messages of legacy clients and servers in both directions, so any client
// works with any server.
//
// During a call, a tool can send requests to the client with [Elicit], [Sample] and [Roots], and
// notifications with [Progress] and [Log]. If the client can respond only with its next round of
// the request, these functions return [ErrInputRequired]. The tool must return that error, and runs
// again from the top when the response has arrived.
//
// Each transport is a package: stdio and command, streamable (Streamable HTTP), httpsse (HTTP+SSE
// of 2024-11-05, deprecated since 2025-03-26) and stream (sockets, memory).
//
// Functions whose name ends in With take options. Methods whose name begins with Add are for
// registrations in the source code; they panic if an argument is invalid. Methods whose name begins
// with Set are for registrations from data; they replace an existing entry and return an error.
//
// The API may change until version 0.1.0. Roots, sampling and logging to clients are deprecated in
// revision 2026-07-28 (SEP-2577).
package mcp
