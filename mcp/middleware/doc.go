// Package middleware provides middleware for Handlers of servers and clients. [Log] writes a log
// record for each request, and [Recover] turns panics into errors. [EditTools] changes or hides
// tools, [RenameTools] renames them, and [AddTools] adds the tools of another Handler.
//
// The first middleware in a chain sees a request first. So put Log before Recover, and tracing
// (package otelmcp) before both:
//
//	h := mcp.Chain(server, middleware.Log(middleware.LogOptions{}), middleware.Recover(nil))
//
// For a client, set the middleware in [mcp.ClientOptions].
package middleware
