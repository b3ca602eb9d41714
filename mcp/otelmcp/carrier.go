package otelmcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// The members of _meta for a trace context that MCP defines.
const (
	keyTraceParent = "traceparent"
	keyTraceState  = "tracestate"
	keyBaggage     = "baggage"
)

// A carried is a TextMapCarrier that reads the trace context of a request.
type carried struct{ req *mcp.Request }

// Get returns a member of the request's _meta. Propagators that the W3C does not define use other
// members.
func (c carried) Get(key string) string {
	switch key {
	case keyTraceParent:
		return c.req.Meta.TraceParent
	case keyTraceState:
		return c.req.Meta.TraceState
	case keyBaggage:
		return c.req.Meta.Baggage
	}
	text, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(c.req.Params, "_meta"), key))
	return text
}

// Set does nothing, as a request must not be changed.
func (c carried) Set(string, string) {}

// Keys returns the members that MCP defines.
func (c carried) Keys() []string { return []string{keyTraceParent, keyTraceState, keyBaggage} }

// inject returns a copy of the request with the trace context of ctx, in place of the one that the
// request had.
func (t *tracer) inject(ctx context.Context, req *mcp.Request) *mcp.Request {
	carrier := propagation.MapCarrier{}
	t.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return req
	}
	copied := *req
	copied.Params = withMeta(req.Params, t.Fields(), carrier)
	copied.Meta.TraceParent, copied.Meta.TraceState, copied.Meta.Baggage = carrier[keyTraceParent], carrier[keyTraceState], carrier[keyBaggage]
	return &copied
}

// withMeta returns the params with members of _meta removed and added.
func withMeta(params json.RawMessage, drop []string, add map[string]string) json.RawMessage {
	keys := slices.Sorted(maps.Keys(add))
	w := jsonrpc.NewObject(make([]byte, 0, len(params)+64*len(keys)))
	w.Members(params, "_meta")
	w.Object("_meta")
	w.Members(jsonrpc.Get(params, "_meta"), slices.Concat(drop, keys)...)
	for _, key := range keys {
		w.String(key, add[key])
	}
	return w.Bytes()
}
