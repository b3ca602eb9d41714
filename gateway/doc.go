// Package gateway puts many servers behind one Handler. The names of their tools and prompts begin
// with the server's name, and their resources keep their URIs. The gateway passes a request on to
// the server that has the tool, prompt or resource. It passes the notifications of all servers on
// to the clients.
//
// A [Gateway] is an [mcp.Handler]. Its members are connections to servers ([Gateway.Add]) or other
// Handlers ([Gateway.AddHandler]). A server whose definitions are remembered starts when it is
// first used. The gateway keeps the lists of its members, and reads a list again only after a
// notification of a change. So a member that is slow, has ended or sends too much does not affect
// the others.
//
// Middleware can wrap the whole gateway, as in mcp.Chain(g, m), or one server, in
// [Upstream.Middleware]. Middleware of a server decides before the server is started. Middleware
// can also wrap another Handler, as in g.AddHandler(name, mcp.Chain(h, m)). The gateway itself
// checks no rules: package gateway/rules does, and package audit logs calls.
package gateway
