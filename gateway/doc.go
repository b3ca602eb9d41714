// Package gateway puts many servers behind one Handler. Their tools and prompts get names that
// begin with the server's name, and their resources keep their URIs. Requests go to the server of
// the entry, and the notifications of all servers reach the clients.
//
// A [Gateway] is an [mcp.Handler] over the Handlers of its members, which are connections to
// servers ([Gateway.Add]) or any other Handlers ([Gateway.AddHandler]). A server whose definitions
// are remembered is started when it is first used. The lists are kept ready, and read again from a
// member only when it notifies of a change. So a member that is slow, has ended or sends too much
// does not affect the others.
//
// Middleware can wrap the gateway, mcp.Chain(g, m), or a server, as [Upstream.Middleware], which
// decides before the server is started. It can also wrap another Handler, g.AddHandler(name,
// mcp.Chain(h, m)). A gateway itself checks no rules: package gateway/rules does, and package audit
// logs calls.
package gateway
