package streamable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A caller is who counts as one client where requests belong to no session: a
// principal, or an address where there is none.
type caller struct {
	known           bool // false in the zero caller, which has no limit
	issuer, subject string
	address         string
}

// findCaller returns who sent the request.
func (x *exchange) findCaller() caller {
	if p := x.principal; p != nil {
		return caller{known: true, issuer: p.Issuer, subject: p.Subject}
	}
	host, _, err := net.SplitHostPort(x.r.RemoteAddr)
	if err != nil {
		host = x.r.RemoteAddr
	}
	return caller{known: true, address: host}
}

// A callerTable counts the running requests of each caller. It is safe for
// concurrent use.
type callerTable struct {
	most    int // requests of one caller
	mu      sync.Mutex
	running map[caller]int
}

// add counts a request, unless the caller has too many already.
func (t *callerTable) add(c caller) error {
	if !c.known {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[c] >= t.most {
		return fmt.Errorf("too many requests at once: at most %d", t.most)
	}
	if t.running == nil {
		t.running = make(map[caller]int)
	}
	t.running[c]++
	return nil
}

func (t *callerTable) remove(c caller) {
	if !c.known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[c]--; t.running[c] == 0 {
		delete(t.running, c)
	}
}

// A call is a POST or GET that is being answered, or one request of a batch.
type call struct {
	caller  caller // zero where the session limits its requests
	listens bool   // a stream, which does not end by itself
}

// errEnding is why a call may not begin.
var errEnding = errors.New("the server is shutting down")

// begin registers a call, unless the Endpoint is ending or has too many of its
// kind. Its context ends with parent, and with the Endpoint; a call without a
// parent is cancelled by its session. [Endpoint.end] must follow.
func (e *Endpoint) begin(parent context.Context, c *call) (context.Context, error) {
	if c.listens && e.streams.Add(1) > int64(e.options.MaxStreams) {
		e.streams.Add(-1)
		return nil, fmt.Errorf("too many open streams: at most %d", e.options.MaxStreams)
	}
	err := e.callers.add(c.caller)
	if err != nil {
		return nil, err
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
		e.streams.Add(-1)
	}
}

// enter is [Endpoint.begin]; if it reports false it has sent the response the request
// with the id.
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
