// Package turn orders what takes others' time, such as writing to a connection:
// one goroutine does it at a time, and the others can give up waiting.
package turn

import (
	"context"
	"slices"
	"sync"
)

// A Turn is a lock for what a mutex must not be held for: whoever waits for it
// waits no longer than a context allows. It goes to whoever waits longest. The zero
// value is a turn that nobody has.
type Turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{} // those who wait, the first of them first; closed when it is their turn
}

// Acquire waits for the turn until ctx is done, and then returns its cause. A turn
// that is free is acquired even if ctx is done.
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
		return nil // it came at the same moment
	}
	t.waiting = slices.Delete(t.waiting, at, at+1)
	return context.Cause(ctx)
}

// enqueue acquires the turn if it is free; else it returns what is closed when the turn
// has come.
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

// Release gives the turn to the next who waits for it.
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
