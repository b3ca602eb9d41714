package streamable

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A call is a POST or GET that is being answered.
type call struct {
	cancel  context.CancelCauseFunc // nil where the session cancels it
	listens bool                    // it does not end by itself
}

// A callTable holds everything that is being answered.
type callTable struct {
	mu      sync.Mutex
	running map[*call]struct{}
	listens int
	ending  bool          // nothing more may begin
	changed chan struct{} // closed at every end while somebody waits; else nil
}

// begin registers a call; false if the Endpoint is ending.
func (t *callTable) begin(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending {
		return false
	}
	if t.running == nil {
		t.running = make(map[*call]struct{})
	}
	t.running[c] = struct{}{}
	if c.listens {
		t.listens++
	}
	return true
}

func (t *callTable) end(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, c)
	if c.listens {
		t.listens--
	}
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// admit registers a call that is about to run; if it reports false the server is
// shutting down, and it has answered.
func (x *exchange) admit(c *call) bool {
	if x.endpoint.calls.begin(c) {
		return true
	}
	x.unavailable("the server is shutting down")
	return false
}

// enter registers a call with a context of its own, and counts its stream if it
// listens; if it returns nil it has answered. Whoever entered leaves.
func (x *exchange) enter(parent context.Context, listens bool) (context.Context, *call) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &call{cancel: cancel, listens: listens}
	if !x.admit(c) {
		cancel(nil)
		return nil, nil
	}
	if listens && !x.takeStream() {
		x.endpoint.calls.end(c)
		cancel(nil)
		return nil, nil
	}
	return ctx, c
}

func (x *exchange) leave(c *call) {
	if c.listens {
		x.endpoint.streams.Add(-1)
	}
	x.endpoint.calls.end(c)
	c.cancel(nil)
}

// close lets nothing more begin.
func (t *callTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ending = true
}

// cancel ends what runs: all of it, or only what does not end by itself.
func (t *callTable) cancel(all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.running {
		if c.cancel != nil && (all || c.listens) {
			c.cancel(edge.ErrShutdown)
		}
	}
}

// wait returns when nothing runs, or nothing that ends by itself, or ctx is done.
func (t *callTable) wait(ctx context.Context, all bool) error {
	for {
		t.mu.Lock()
		left := len(t.running)
		if !all {
			left -= t.listens
		}
		if left == 0 {
			t.mu.Unlock()
			return nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends everything at once: running requests are cancelled, streams and
// sessions end, and whatever comes later is refused with 503. It does not wait.
func (e *Endpoint) Close() {
	e.calls.close()
	for _, s := range e.sessions.close() {
		s.end(edge.ErrShutdown)
	}
	e.calls.cancel(true)
}

// Shutdown ends the Endpoint in order: new requests are refused with 503,
// running ones finish, subscriptions get their result, and then it does what
// [Endpoint.Close] does. Where ctx is done first, it does that at once and returns
// ctx's error. A ctx without a deadline gets options.DrainTimeout.
//
// Call it before or beside [http.Server.Shutdown], which waits for the streams
// that it ends.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.options.DrainTimeout)
		defer cancel()
	}
	defer e.Close()
	e.calls.close()
	if err := e.calls.wait(ctx, false); err != nil {
		return err
	}
	e.calls.cancel(false)
	return e.calls.wait(ctx, true)
}
