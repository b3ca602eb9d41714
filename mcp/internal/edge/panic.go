package edge

import (
	"context"
	"runtime/debug"

	"github.com/junction-mcp/junction/mcp"
)

// guarded wraps the Handler of an Edge: a panic in it fails one request only, in any goroutine of a
// transport.
type guarded struct {
	edge *Edge
	next mcp.Handler
}

// Handle implements [mcp.Handler].
func (g guarded) Handle(ctx context.Context, req *mcp.Request) (result mcp.Result, err error) {
	defer g.edge.recovered(req.Method, req.Name, &err)
	return g.next.Handle(ctx, req)
}

// encode returns the object of a result. Its values may panic while they are encoded.
func (e *Edge) encode(method string, result *mcp.Result) (object []byte, err error) {
	defer e.recovered(method, "", &err)
	return result.Encoded()
}

// recovered turns a panic into the error of a request. Callers must defer it.
func (e *Edge) recovered(method, name string, err *error) {
	if p := recover(); p != nil {
		e.log.Error("mcp: panic in a handler", "method", method, "name", name, "panic", p, "stack", string(debug.Stack()))
		*err = mcp.Errorf(mcp.CodeInternalError, "%s %q failed: the server's handler panicked", method, name)
	}
}
