package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// passTime limits how long the result of a tool waits for the preceding notifications to be
// delivered.
const passTime = 250 * time.Millisecond

// An inFlight counts the notifications without a call that wait for listeners. If a tool changed a
// list, its result then follows the notification, in the server's order.
type inFlight struct {
	n    atomic.Int64
	slow atomic.Bool // a request waited in vain; others do not wait until all are delivered

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
	if f.none != nil {
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
