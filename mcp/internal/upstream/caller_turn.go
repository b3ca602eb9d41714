package upstream

import (
	"context"
	"slices"
	"sync"
)

// A callerTurn lets the calls of one client run while those of others wait in order. It serves
// servers whose requests name no call: it makes their client known.
type callerTurn struct {
	mu     sync.Mutex
	caller any // client that has the turn; nil for one call of an unknown client
	calls  int // calls that hold the turn
	line   []*inLine
}

// An inLine is a call that waits for its turn.
type inLine struct {
	caller any
	next   chan struct{} // closed when the call has the turn
}

// acquire takes the turn for a call of the client, or waits for it until ctx is done.
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
		t.advance() // it may have been ahead of calls of the client that has the turn
	}
	t.mu.Unlock()
	if at < 0 {
		t.release()
	}
	return context.Cause(ctx)
}

// try takes the turn if no wait is needed.
func (t *callerTurn) try(caller any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(caller)
}

// take takes the turn if it is free, or if the client has it and no other waits. A client that
// calls all the time therefore cannot keep it from others.
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

// advance gives the turn to the first in line and to the following calls of the same client.
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

// wanted reports whether calls of others wait.
func (t *callerTurn) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.line) > 0
}
