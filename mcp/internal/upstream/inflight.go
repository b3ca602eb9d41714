package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// passTime is how long the result of a tool waits until the notifications that came before it are passed on.
const passTime = 250 * time.Millisecond

// An inFlight counts the notifications of no call that wait for listeners: the result of a tool that changed a list
// comes behind the notification of that, as the server sent them.
type inFlight struct {
	n    atomic.Int64
	slow atomic.Bool // a request waited in vain; no other does until all are passed on

	mu   sync.Mutex
	none chan struct{} // closed when all are passed on; nil while no request waits
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

// wait waits until all that came so far are passed on. A listener that takes nothing holds up one result.
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
