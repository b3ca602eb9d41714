package trace

import (
	"context"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/mcp"
)

// Handler wraps the Handler of a server, so that t records every request to it. It also records
// results, notifications and the server's own requests, as JSON-RPC messages with ids that t
// assigns. With a nil t it returns next.
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

// A recordedCall is a request that is being recorded.
type recordedCall struct {
	*recorder
	id string // as JSON
	of string // see [host.CallID]
}

// NextID implements [event.Call].
func (c *recordedCall) NextID() int64 { return c.trace.id() }

// Step implements [event.Call]. The end of a subscription that its listener ended is not an error.
func (c *recordedCall) Step(ctx context.Context, s event.Step) {
	if s.Err != nil {
		if s.Method == methodListen && ctx.Err() != nil {
			return
		}
		s.Body = jsonrpc.Without(s.Body, "data")
	}
	m := frame{Step: s, at: time.Now(), server: c.server, call: c.of, id: c.id}
	if s.ID != 0 { // the server assigns its ids separately from the client
		m.id = strconv.Quote(strconv.FormatInt(s.ID, 10))
	}
	c.trace.message(m)
}

// A frame is a step between the host and a server.
type frame struct {
	event.Step
	at     time.Time
	server string
	call   string // see [host.CallID]
	id     string // as JSON
}

// maxJSON is the number of bytes of a body in the text of a message.
const maxJSON = 4 * maxDetail

// message records a message.
func (t *Trace) message(m frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wired) < maxOpen {
		t.wired[m.server] = true
	}
	i := &item{at: m.at, form: sequence.Message, from: theHost, to: server(m.server), head: m.Method, label: string(m.Body[:min(len(m.Body), maxDetail)])}
	if !m.ToServer {
		i.from, i.to = i.to, i.from
	}
	switch m.Kind {
	case event.Failure, event.Cancelled:
		i.head, i.failed = i.head+" error", true
	case event.Response, event.Pending, event.Answer:
		i.head += " result"
	}
	m.Body = m.Body[:min(len(m.Body), maxJSON)]
	i.detail = string(m.AppendMessage(nil, m.id))
	call := t.calls[m.call]
	if call != nil {
		i.scope = call.scope
	}
	if call != nil && m.Method == "tools/call" {
		// Steps 4 and 5 are the same as these messages, so diagrams have one arrow for both.
		i.covered = true
		if m.Kind == event.Request {
			t.extend(call.called, i.detail)
		} else {
			call.response = detail(i.detail)
		}
	}
	t.add(i)
}

// id returns a new id for a message without one.
func (t *Trace) id() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return t.next
}
