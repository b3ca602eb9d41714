package trace

import (
	"context"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Handler wraps the Handler of a server, so that t records every request to it,
// its results, and what it says and asks on the way, as JSON-RPC messages with
// ids of the trace's own. A nil t records nothing.
func Handler(next mcp.Handler, server string, t *Trace) mcp.Handler {
	if t == nil {
		return next
	}
	return event.Tap(&recorder{server, t})(next)
}

const methodListen = "subscriptions/listen"

type recorder struct {
	server string
	trace  *Trace
}

// Watching implements [event.Sink].
func (r *recorder) Watching() bool { return true }

// Begin implements [event.Sink].
func (r *recorder) Begin(ctx context.Context, request event.Step) (context.Context, event.Call) {
	c := &recordedCall{recorder: r, id: strconv.FormatInt(r.trace.id(), 10), of: host.CallID(ctx)}
	c.Step(ctx, request)
	return ctx, c
}

// A recordedCall is a request that is recorded.
type recordedCall struct {
	*recorder
	id string // as JSON
	of string // see [host.CallID]
}

// NextID implements [event.Call].
func (c *recordedCall) NextID() int64 { return c.trace.id() }

// Step implements [event.Call]. A subscription ends when nobody listens any more, which is no failure.
func (c *recordedCall) Step(ctx context.Context, s event.Step) {
	if s.Err != nil {
		if s.Method == methodListen && ctx.Err() != nil {
			return
		}
		s.Body = jsonrpc.Without(s.Body, "data")
	}
	m := frame{Step: s, at: time.Now(), server: c.server, call: c.of, id: c.id}
	if s.ID != 0 { // the server's own ids are others than the client's
		m.id = strconv.Quote(strconv.FormatInt(s.ID, 10))
	}
	c.trace.message(m)
}
