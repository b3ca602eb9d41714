// Package gateway puts many servers behind one Handler. Their tools and prompts
// are offered under names that begin with the server's, their resources under
// the URIs they have; requests go to the server they are about, and notifications
// of all come together.
//
// A [Gateway] is an [mcp.Handler] over the Handlers of its members, which are
// connections to servers ([Gateway.Add]) or anything else that answers
// ([Gateway.AddHandler]). A server whose definitions are remembered is started when
// it is first used. What is offered is kept ready, and read again from a member only
// when it says that it changed: a member that is slow, has ended or sends too
// much costs the others nothing.
//
// Middleware goes around the gateway, mcp.Chain(g, m); around a server, as [Upstream.Middleware], which
// decides before the server is started; or around another Handler,
// g.AddHandler(name, mcp.Chain(h, m)). A gateway itself checks no rules: package gateway/rules does, and
// package audit writes down what was called.
package gateway
