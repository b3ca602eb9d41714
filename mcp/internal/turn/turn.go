// Package turn orders what takes others' time, such as writing to a connection:
// one goroutine does it at a time, and the others can give up waiting.
package turn

import "context"

// A Turn is a lock for what a mutex must not be held for: whoever waits for it
// waits no longer than a context allows.
type Turn chan struct{}

// New returns a Turn that nobody has.
func New() Turn { return make(Turn, 1) }

// Acquire waits for the turn until ctx is done, and then returns its cause. A turn
// that is free is acquired even if ctx is done.
func (t Turn) Acquire(ctx context.Context) error {
	if t.TryAcquire() {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TryAcquire acquires the turn if it is free.
func (t Turn) TryAcquire() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release gives the turn to the next who waits for it.
func (t Turn) Release() { <-t }
