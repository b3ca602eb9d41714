// Package turn provides a lock for long operations, such as writing to a connection. A caller can
// give up waiting for it.
package turn

import (
	"context"
	"slices"
	"sync"
)

// A Turn is a lock for operations that are too long for a mutex. A wait ends when its context is
// done. Waiters get the turn in the order of their calls. The zero value is a free turn.
type Turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{} // waiters in order; closed when they get the turn
}

// Acquire waits for the turn. If ctx is done first, it returns the cause. It acquires a free turn
// even if ctx is done.
func (t *Turn) Acquire(ctx context.Context) error {
	mine := t.enqueue()
	if mine == nil {
		return nil
	}
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting, mine)
	if at < 0 {
		return nil // the caller got the turn at the same moment
	}
	t.waiting = slices.Delete(t.waiting, at, at+1)
	return context.Cause(ctx)
}

// enqueue acquires the turn if it is free. Otherwise it returns a channel that is closed when the
// caller gets the turn.
func (t *Turn) enqueue() (mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		mine = make(chan struct{})
		t.waiting = append(t.waiting, mine)
	}
	t.taken = true
	return mine
}

// TryAcquire acquires the turn if it is free.
func (t *Turn) TryAcquire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := !t.taken
	t.taken = true
	return free
}

// Release passes the turn to the next waiter.
func (t *Turn) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
