package edge

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// InFlight holds the running requests of one client by their ids, so that they
// can be cancelled and waited for. The zero value holds none and is ready; it is
// safe for concurrent use.
type InFlight struct {
	mu      sync.Mutex
	cancels map[jsonrpc.ID]context.CancelCauseFunc
	listens int           // how many of them are subscriptions, which do not end by themselves
	idle    chan struct{} // closed when nothing else runs; nil while nobody waits
	ended   error         // why nothing may begin any more
}

// Begin registers a request that starts to run; [InFlight.End] must follow. The
// context ends with parent, when the client cancels the request, and with
// [InFlight.Cancel]. most is how many may run at the same time.
func (t *InFlight) Begin(parent context.Context, m *jsonrpc.Message, most int) (context.Context, *jsonrpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "%v", t.ended)
	}
	if _, running := t.cancels[m.ID]; running {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "a request with the id %s is running already", m.ID)
	}
	if len(t.cancels) >= most {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests at once: at most %d", most)
	}
	ctx, cancel := context.WithCancelCause(parent)
	if t.cancels == nil {
		t.cancels = make(map[jsonrpc.ID]context.CancelCauseFunc)
	}
	t.cancels[m.ID] = cancel
	if m.Method == methodListen {
		t.listens++
	}
	return ctx, nil
}

// End forgets a request that began, and frees its context.
func (t *InFlight) End(m *jsonrpc.Message) {
	t.mu.Lock()
	cancel := t.cancels[m.ID]
	delete(t.cancels, m.ID)
	if m.Method == methodListen {
		t.listens--
	}
	if t.idle != nil && len(t.cancels) == t.listens {
		close(t.idle)
		t.idle = nil
	}
	t.mu.Unlock()
	cancel(nil)
}

// Cancelled ends the request that a notifications/cancelled names; one that is
// not running is ignored.
func (t *InFlight) Cancelled(m *jsonrpc.Message) {
	id := jsonrpc.ID(m.Members.Get("requestId"))
	t.mu.Lock()
	cancel := t.cancels[id]
	t.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
}

// Cancel ends all requests, and lets no other begin; cause says why.
func (t *InFlight) Cancel(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = cause
	for _, cancel := range t.cancels {
		cancel(cause)
	}
}

// Len is how many requests are running.
func (t *InFlight) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.cancels)
}

// Drain waits until no request but subscriptions is running, or ctx is done.
func (t *InFlight) Drain(ctx context.Context) {
	t.mu.Lock()
	if len(t.cancels) == t.listens {
		t.mu.Unlock()
		return
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
