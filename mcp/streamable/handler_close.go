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

// context returns the context of the request, with its caller.
func (x *exchange) context() context.Context {
	x.asked = share.Asked{Context: x.r.Context(), By: x}
	return &x.asked
}

// A callerTable counts the running requests of each caller. It is safe for concurrent use.
type callerTable struct {
	limit   int // maximum requests of one caller
	mu      sync.Mutex
	running map[string]int
}

// add counts a request, or returns an error if the caller has too many. There is no limit for an
// empty caller.
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

// A call is a POST or GET in progress, or one request of a batch.
type call struct {
	caller  string // empty if the session limits the number of its requests
	listens bool   // set for a stream, which does not end by itself
	streams string // the caller whose share of the streams it uses
}

// errEnding is the error of a call that begins during a shutdown.
var errEnding = errors.New("the server is shutting down")

// begin registers a call. It fails if the Endpoint is closing or has too many calls of this kind.
// The context ends with parent and with the Endpoint. If parent is nil, the session cancels the
// call. The caller must call [Endpoint.end].
func (e *Endpoint) begin(parent context.Context, c *call) (context.Context, error) {
	if c.listens && !e.streams.Take(c.streams) {
		return nil, fmt.Errorf("too many open streams: at most %d", e.options.MaxStreams)
	}
	err := e.callers.add(c.caller)
	if err != nil {
		return nil, err // there is no stream to release, as streams have no caller
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

// enter is like [Endpoint.begin]. On an error, it sends the error as the response to the request
// with this id, and returns false.
func (x *exchange) enter(parent context.Context, c *call, id jsonrpc.ID) (context.Context, bool) {
	ctx, err := x.endpoint.begin(parent, c)
	if err != nil {
		x.unavailable(id, "%v", err)
	}
	return ctx, err == nil
}

// Close ends everything at once. It cancels running requests, and ends streams and sessions,
// without waiting for them. Later requests are refused with 503.
func (e *Endpoint) Close() {
	e.calls.Close(errEnding)
	for _, s := range e.sessions.close() {
		s.end(edge.ErrShutdown)
	}
	e.calls.CancelAll(edge.ErrShutdown)
	if e.peers != nil {
		e.peers.client.CloseIdleConnections()
		e.peers.calls.CloseIdleConnections()
	}
}

// A Usage counts what clients hold at an Endpoint.
type Usage struct {
	Sessions int // legacy sessions in memory
	Streams  int // open streams for notifications
	Parked   int // calls that wait for the next round of their clients here
}

// Usage returns what clients hold.
func (e *Endpoint) Usage() Usage {
	e.sessions.mu.RLock()
	defer e.sessions.mu.RUnlock()
	return Usage{len(e.sessions.byID), e.streams.Used(), e.edge.Bound()}
}

// Settle waits until no request runs, except subscriptions, and no client has to come back with the
// next round of a call that waits for it here. Requests still begin. Call it before Shutdown when
// clients are sent to other replicas by then.
func (e *Endpoint) Settle(ctx context.Context) error {
	for {
		if err := e.calls.Drain(ctx); err != nil {
			return err
		}
		if err := e.edge.Expected(ctx); err != nil {
			return err
		}
		if e.calls.Drained() {
			return nil
		}
	}
}

// Shutdown ends the Endpoint gracefully. It refuses new requests with 503, waits for running
// requests, ends subscriptions with their result, and then calls [Endpoint.Close]. If ctx is done
// first, it calls Close at once and returns the error of ctx. If ctx has no deadline,
// options.DrainTimeout applies.
//
// Call Shutdown before or concurrently with [http.Server.Shutdown], which waits for the streams
// that Shutdown ends.
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
