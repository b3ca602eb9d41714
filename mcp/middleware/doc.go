// Package middleware holds middleware that nearly every program wants around a
// Handler, be it a server that it serves or a client that it asks with:
// [Log] writes a line for each request, [Recover] survives panics, [EditTools]
// changes or hides tools, [RenameTools] gives them other names, and [AddTools]
// adds those of another Handler.
//
// The first in a chain sees a request first, so Log stands before Recover, and
// what makes traces (package otelmcp) before both:
//
//	h := mcp.Chain(server, middleware.Log(middleware.LogOptions{}), middleware.Recover(nil))
//
// A client has its middleware in [mcp.ClientOptions].
package middleware
