package upstream

import (
	"context"
	"slices"
	"sync"
)

// A callerTurn lets the calls of one client run while calls of other clients wait in order. It is
// used with servers whose requests name no call. With it, the client that they are meant for is
// known.
type callerTurn struct {
	mu     sync.Mutex
	caller any // the client that has the turn; nil for one call of an unknown client
	calls  int // number of calls that have the turn
	line   []*inLine
}

// An inLine is a call that waits for the turn.
type inLine struct {
	caller any
	next   chan struct{} // closed when the call has the turn
}

// acquire takes the turn for a call of a client, or waits for it until ctx is done.
func (t *callerTurn) acquire(ctx context.Context, caller any) error {
	t.mu.Lock()
	if t.take(caller) {
		t.mu.Unlock()
		return nil
	}
	w := &inLine{caller: caller, next: make(chan struct{})}
	t.line = append(t.line, w)
	t.mu.Unlock()
	select {
	case <-w.next:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(t.line, w)
	if at >= 0 {
		t.line = slices.Delete(t.line, at, at+1)
		t.advance() // the call may have been ahead of calls of the client that has the turn
	}
	t.mu.Unlock()
	if at < 0 {
		t.release()
	}
	return context.Cause(ctx)
}

// try takes the turn if that needs no wait. It reports whether it took the turn.
func (t *callerTurn) try(caller any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(caller)
}

// take takes the turn if it is free, or if the client has it and no call waits. So a client that
// calls all the time cannot keep the turn.
func (t *callerTurn) take(caller any) bool {
	if t.calls > 0 && (len(t.line) > 0 || caller == nil || caller != t.caller) {
		return false
	}
	t.caller = caller
	t.calls++
	return true
}

func (t *callerTurn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls--
	t.advance()
}

// advance passes the turn to the first call in line, and to the following calls of the same client.
func (t *callerTurn) advance() {
	for len(t.line) > 0 {
		first, rest := t.line[0], t.line[1:]
		if t.calls > 0 && (first.caller == nil || first.caller != t.caller) {
			return
		}
		t.line = rest
		t.caller = first.caller
		t.calls++
		close(first.next)
	}
}

// wanted reports whether calls of other clients wait.
func (t *callerTurn) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.line) > 0
}
