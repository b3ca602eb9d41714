package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// A limitedPeer is the Peer of a request that is passed on for a limited time: what
// goes to the client gives it its time again, and while the client is asked the
// clock stands.
type limitedPeer struct {
	Peer
	idle idleTimeout
}

// Notify notifies the client.
func (p *limitedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.idle.restart()
	return p.Peer.Notify(ctx, method, params)
}

// Ask asks the client.
func (p *limitedPeer) Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	defer p.idle.hold()()
	return p.Peer.Ask(ctx, q)
}

// Disconnect is that of the client's Peer, if it has one.
func (p *limitedPeer) Disconnect() {
	if d, ok := p.Peer.(interface{ Disconnect() }); ok {
		d.Disconnect()
	}
}

// An idleTimeout ends a request of which nothing is heard for too long.
type idleTimeout struct {
	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	held  int // requests of the server that the user is thinking about
}

func (t *idleTimeout) start(ctx context.Context, o ClientOptions, req *Request) (context.Context, func()) {
	limit, total := o.Timeout, o.MaxTimeout
	if limit == 0 {
		limit = defaultTimeout
	}
	if total <= 0 {
		total = max(defaultMaxTimeout, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t.limit = limit
	t.timer = time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("no message for %v: %w", limit, context.DeadlineExceeded))
	})
	all := time.AfterFunc(total, func() {
		cancel(fmt.Errorf("not done after %v: %w", total, context.DeadlineExceeded))
	})
	return ctx, func() {
		all.Stop()
		t.mu.Lock()
		t.timer.Stop()
		t.mu.Unlock()
		cancel(nil)
	}
}

// restart gives the request its time again: something was heard of it.
func (t *idleTimeout) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && t.held == 0 && t.timer.Stop() {
		t.timer.Reset(t.limit)
	}
}

// hold stops the clock while the client is asked something; the function that it
// returns starts it again.
func (t *idleTimeout) hold() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return func() {}
	}
	t.held++
	t.timer.Stop()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.held--; t.held == 0 {
			t.timer.Reset(t.limit)
		}
	}
}
