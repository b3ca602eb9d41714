package streamable

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// Caller implements [httpedge.Caller], for requests that belong to no session.
func (x *exchange) Caller() string { return httpedge.CallerOf(x.r, x.principal) }

// context is that of the request, which names the caller.
func (x *exchange) context() context.Context {
	x.asked = share.Asked{Context: x.r.Context(), By: x}
	return &x.asked
}

// A callerTable counts the running requests of each caller. It is safe for
// concurrent use.
type callerTable struct {
	limit   int // requests of one caller
	mu      sync.Mutex
	running map[string]int
}

// add counts a request, unless the caller has too many already; an empty caller
// has no limit.
func (t *callerTable) add(caller string) error {
	if caller == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	running := t.running[caller]
	if running >= t.limit {
		return fmt.Errorf("%s: at most %d", mcp.ErrBusy.Message, t.limit)
	}
	if t.running == nil {
		t.running = make(map[string]int)
	}
	t.running[caller] = running + 1
	return nil
}

func (t *callerTable) remove(caller string) {
	if caller == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if running := t.running[caller]; running > 1 {
		t.running[caller] = running - 1
	} else {
		delete(t.running, caller)
	}
}

// A call is a POST or GET that is being answered, or one request of a batch.
type call struct {
	caller  string // empty where the session limits its requests
	listens bool   // a stream, which does not end by itself
	streams string // in whose share of the streams it is
}

// errEnding is why a call may not begin.
var errEnding = errors.New("the server is shutting down")

// begin registers a call, unless the Endpoint is ending or has too many of its
// kind. Its context ends with parent, and with the Endpoint; a call without a
// parent is cancelled by its session. [Endpoint.end] must follow.
func (e *Endpoint) begin(parent context.Context, c *call) (context.Context, error) {
	if c.listens && !e.streams.Take(c.streams) {
		return nil, fmt.Errorf("too many open streams: at most %d", e.options.MaxStreams)
	}
	err := e.callers.add(c.caller)
	if err != nil {
		return nil, err // of no stream: those have no caller
	}
	ctx, fault := e.calls.Begin(parent, c, c.listens, 0)
	if fault != nil {
		e.uncount(c)
		return nil, errors.New(fault.Message)
	}
	return ctx, nil
}

func (e *Endpoint) end(c *call) {
	e.calls.End(c)
	e.uncount(c)
}

func (e *Endpoint) uncount(c *call) {
	e.callers.remove(c.caller)
	if c.listens {
		e.streams.Give(c.streams)
	}
}

// enter is [Endpoint.begin]; if it reports false it has sent the response to
// the request with the id.
func (x *exchange) enter(parent context.Context, c *call, id jsonrpc.ID) (context.Context, bool) {
	ctx, err := x.endpoint.begin(parent, c)
	if err != nil {
		x.unavailable(id, "%v", err)
	}
	return ctx, err == nil
}

// Close ends everything at once: running requests are cancelled, streams and
// sessions end, and whatever comes later is refused with 503. It does not wait.
func (e *Endpoint) Close() {
	e.calls.Close(errEnding)
	for _, s := range e.sessions.close() {
		s.end(edge.ErrShutdown)
	}
	e.calls.CancelAll(edge.ErrShutdown)
}

// Shutdown ends the Endpoint in order: new requests are refused with 503,
// running ones finish, subscriptions get their result, and then it does what
// [Endpoint.Close] does. Where ctx is done first, it does that at once and returns
// ctx's error. A ctx without a deadline gets options.DrainTimeout.
//
// Call it before or alongside [http.Server.Shutdown], which waits for the streams
// that it ends.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.options.DrainTimeout)
		defer cancel()
	}
	defer e.Close()
	e.calls.Close(errEnding)
	if err := e.calls.Drain(ctx); err != nil {
		return err
	}
	e.calls.CancelListens(edge.ErrShutdown)
	return e.calls.Wait(ctx)
}
