package edge

import (
	"context"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Calls is a table of running requests. It counts, cancels and waits for them. The key K is the id
// if one client sends all requests. A transport with several clients in one table uses another key.
// The zero value is an empty table. It is safe for concurrent use.
//
// Listens (subscriptions/listen) are counted separately, as they last until the client or this side
// ends them.
type Calls[K comparable] struct {
	mu      sync.Mutex
	running map[K]runningCall
	listens int
	changed chan struct{} // closed when a request ends; nil without waiters
	closed  error         // why no request may begin; nil if requests may begin
}

// A runningCall is one request in the table.
type runningCall struct {
	cancel  context.CancelCauseFunc // nil if another table cancels the request
	listens bool
}

// Begin adds a request; the caller must call [Calls.End]. The returned context ends with parent, or
// when the table cancels the request. If parent is nil, the request is only counted, and another
// table cancels it. At most limit requests run at the same time; 0 means no limit.
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

// End removes a request and cancels its context.
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

// Cancel cancels one request with cause. It does nothing if the request is not running.
func (t *Calls[K]) Cancel(key K, cause error) {
	t.mu.Lock()
	c := t.running[key]
	t.mu.Unlock()
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// CancelAll cancels every running request.
func (t *Calls[K]) CancelAll(cause error) { t.cancel(cause, false) }

// CancelListens cancels every running listen.
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
	for _, cancel := range all { // without the lock: functions that run at the end of a context may use the table
		cancel(cause)
	}
}

// Close makes Begin fail with cause. Running requests continue.
func (t *Calls[K]) Close(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = cause
}

// Len returns the number of running requests.
func (t *Calls[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running)
}

// Drain waits until only listens are running. If ctx is done first, it returns the error of ctx.
func (t *Calls[K]) Drain(ctx context.Context) error { return t.wait(ctx, false) }

// Drained reports whether only listens are running.
func (t *Calls[K]) Drained() bool { return t.left(false) == nil }

// Wait is like [Calls.Drain], but also waits for listens.
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

// left returns a channel that is closed when a request ends, or nil if no request is left to wait
// for.
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
