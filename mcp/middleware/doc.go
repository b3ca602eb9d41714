// Package middleware provides middleware for most programs with a Handler, be it a server or a
// client: [Log] writes a line for each request, [Recover] turns panics into errors, [EditTools]
// changes or hides tools, [RenameTools] renames them, and [AddTools] adds those of another Handler.
//
// The first in a chain sees a request first. So put Log before Recover, and tracing (package
// otelmcp) before both:
//
//	h := mcp.Chain(server, middleware.Log(middleware.LogOptions{}), middleware.Recover(nil))
//
// A client has its middleware in [mcp.ClientOptions].
package middleware
