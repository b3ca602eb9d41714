package upstream

import (
	"context"
	"sync"
)

// A callerTurn lets the calls of one client run, while those of others wait. It
// is for servers whose requests name no call: whom they are for is then known.
type callerTurn struct {
	mu      sync.Mutex
	caller  any           // whose turn it is; nil: that of one call whose client is not known
	calls   int           // that hold it
	waiting int           // calls of others
	free    chan struct{} // closed, and made new, when nobody holds it any more
}

func newCallerTurn() *callerTurn { return &callerTurn{free: make(chan struct{})} }

// acquire takes the turn for a call of the client, or waits for it until ctx is done.
func (t *callerTurn) acquire(ctx context.Context, caller any) error {
	t.mu.Lock()
	t.waiting++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
	}()
	for {
		taken, free := t.try(caller, 1)
		if taken {
			return nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try takes the turn if it is free, or if the client has it and at most waiting
// calls wait: a client that goes on and on does not keep it from others.
func (t *callerTurn) try(caller any, waiting int) (taken bool, free <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls > 0 && (caller == nil || caller != t.caller || t.waiting > waiting) {
		return false, t.free
	}
	t.caller = caller
	t.calls++
	return true, nil
}

func (t *callerTurn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls--; t.calls == 0 {
		t.caller = nil
		close(t.free)
		t.free = make(chan struct{})
	}
}

// wanted reports whether calls of others wait.
func (t *callerTurn) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting > 0
}
