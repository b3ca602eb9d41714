package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// passTime is how long the result of a tool waits until the notifications before it are delivered.
const passTime = 250 * time.Millisecond

// An inFlight counts the notifications outside of calls that wait for listeners. It preserves an
// order of the server: if a tool changes a list, the notification about the list is delivered
// before the result of the tool.
type inFlight struct {
	n    atomic.Int64
	slow atomic.Bool // set after a wait timed out; nothing waits until all notifications are delivered

	mu   sync.Mutex
	none chan struct{} // closed when all are delivered; nil without waiters
}

func (f *inFlight) begin() { f.n.Add(1) }

func (f *inFlight) over() {
	if f.n.Add(-1) > 0 {
		return
	}
	f.slow.Store(false)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.none != nil && f.n.Load() == 0 { // otherwise the waiter began after a later notification
		close(f.none)
		f.none = nil
	}
}

// wait waits until the notifications received so far are delivered. A blocked listener delays only
// one result.
func (f *inFlight) wait(ctx context.Context) {
	if f.n.Load() == 0 || f.slow.Load() {
		return
	}
	f.mu.Lock()
	if f.n.Load() == 0 {
		f.mu.Unlock()
		return
	}
	if f.none == nil {
		f.none = make(chan struct{})
	}
	none := f.none
	f.mu.Unlock()
	timer := time.NewTimer(passTime)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
		f.slow.Store(true)
	case <-ctx.Done():
	}
}
