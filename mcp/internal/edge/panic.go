package edge

import (
	"context"
	"runtime/debug"

	"github.com/junction-mcp/junction/mcp"
)

// guarded is the Handler of an Edge: a panic in it fails one request, whichever
// goroutine it runs in.
type guarded struct {
	edge *Edge
	next mcp.Handler
}

// Handle implements [mcp.Handler].
func (g guarded) Handle(ctx context.Context, req *mcp.Request) (result mcp.Result, err error) {
	defer g.edge.recovered(req.Method, req.Name, &err)
	return g.next.Handle(ctx, req)
}

// encode returns the object of a result, whose values may panic as they encode
// themselves.
func (e *Edge) encode(method string, result *mcp.Result) (object []byte, err error) {
	defer e.recovered(method, "", &err)
	return result.Encoded()
}

// recovered turns a panic into the error of a request. It must be deferred.
func (e *Edge) recovered(method, name string, err *error) {
	if p := recover(); p != nil {
		e.log.Error("mcp: panic in a handler", "method", method, "name", name, "panic", p, "stack", string(debug.Stack()))
		*err = mcp.Errorf(mcp.CodeInternalError, "%s %q failed: the server's handler panicked", method, name)
	}
}
