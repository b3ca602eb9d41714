package edge

import (
	"context"
	"runtime/debug"

	"github.com/junction-mcp/junction/mcp"
)

// A guarded is the Handler of an Edge, wrapped so that a panic fails only one request, in any
// goroutine of a transport.
type guarded struct {
	edge *Edge
	next mcp.Handler
}

// Handle implements [mcp.Handler].
func (g guarded) Handle(ctx context.Context, req *mcp.Request) (result mcp.Result, err error) {
	defer g.edge.recovered(req.Method, req.Name, &err)
	return g.next.Handle(ctx, req)
}

// encode returns the encoded object of a result. The values in it may panic while they are encoded.
func (e *Edge) encode(method string, result *mcp.Result) (object []byte, err error) {
	defer e.recovered(method, "", &err)
	return result.Encoded()
}

// recovered turns a panic into the error of a request. It must be called by defer.
func (e *Edge) recovered(method, name string, err *error) {
	if p := recover(); p != nil {
		e.log.Error("mcp: panic in a handler", "method", method, "name", name, "panic", p, "stack", string(debug.Stack()))
		*err = mcp.Errorf(mcp.CodeInternalError, "%s %q failed: the server's handler panicked", method, name)
	}
}
