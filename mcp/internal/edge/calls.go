package edge

import (
	"context"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Calls is a table of running requests, so that they can be counted, cancelled
// and waited for. K tells them apart: the id where one client sends them all,
// something of the transport's where many clients share the table. The zero
// value is an empty table; it is safe for concurrent use.
//
// Listens (subscriptions/listen) are counted apart: they end only when the
// client, or this side, ends them.
type Calls[K comparable] struct {
	mu      sync.Mutex
	running map[K]runningCall
	listens int
	changed chan struct{} // closed when a request ends; nil while nobody waits
	closed  error         // why no request may begin any more
}

// A runningCall is one request in the table.
type runningCall struct {
	cancel  context.CancelCauseFunc // nil where another table cancels it
	listens bool
}

// Begin adds a request that starts to run; [Calls.End] must follow. The context
// that it returns ends with parent and when the table cancels the request. A
// request whose parent is nil is only counted: another table cancels it. limit is
// how many may run at the same time; 0 means no limit.
func (t *Calls[K]) Begin(parent context.Context, key K, listens bool, limit int) (context.Context, *jsonrpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "%v", t.closed)
	}
	if _, running := t.running[key]; running {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "a request with the id %s is running already", fmt.Sprint(key))
	}
	if limit > 0 && len(t.running) >= limit {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "%s: at most %d", mcp.ErrBusy.Message, limit)
	}
	c := runningCall{listens: listens}
	ctx := parent
	if parent != nil {
		ctx, c.cancel = context.WithCancelCause(parent)
	}
	if t.running == nil {
		t.running = make(map[K]runningCall)
	}
	t.running[key] = c
	if listens {
		t.listens++
	}
	return ctx, nil
}

// End removes a request that began, and frees its context.
func (t *Calls[K]) End(key K) {
	t.mu.Lock()
	c := t.running[key]
	delete(t.running, key)
	if c.listens {
		t.listens--
	}
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	t.mu.Unlock()
	if c.cancel != nil {
		c.cancel(nil)
	}
}

// Cancel ends one request; one that is not running is ignored.
func (t *Calls[K]) Cancel(key K, cause error) {
	t.mu.Lock()
	c := t.running[key]
	t.mu.Unlock()
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// CancelAll ends every request that runs.
func (t *Calls[K]) CancelAll(cause error) { t.cancel(cause, false) }

// CancelListens ends the listens that run.
func (t *Calls[K]) CancelListens(cause error) { t.cancel(cause, true) }

func (t *Calls[K]) cancel(cause error, listensOnly bool) {
	var all []context.CancelCauseFunc
	t.mu.Lock()
	for _, c := range t.running {
		if c.cancel != nil && (c.listens || !listensOnly) {
			all = append(all, c.cancel)
		}
	}
	t.mu.Unlock()
	for _, cancel := range all { // without the lock, as what waits for a context may use the table
		cancel(cause)
	}
}

// Close lets no more requests begin; cause says why. Those that run go on.
func (t *Calls[K]) Close(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = cause
}

// Len is how many requests are running.
func (t *Calls[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running)
}

// Drain waits until no request but listens is running. It returns the error of
// ctx where that is done first.
func (t *Calls[K]) Drain(ctx context.Context) error { return t.wait(ctx, false) }

// Wait is [Calls.Drain] for all requests, listens included.
func (t *Calls[K]) Wait(ctx context.Context) error { return t.wait(ctx, true) }

func (t *Calls[K]) wait(ctx context.Context, listens bool) error {
	for {
		changed := t.left(listens)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// left returns a channel that is closed when a request ends, or nil if nothing
// is left to wait for.
func (t *Calls[K]) left(listens bool) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.running) == 0 || !listens && len(t.running) == t.listens {
		return nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}
