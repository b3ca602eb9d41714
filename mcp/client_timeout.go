package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
)

// A limitedPeer is the Peer of a request that is passed on for a limited time: what
// goes to the client gives it its time again, and while the client is asked the
// clock stands.
type limitedPeer struct {
	Peer
	idle *idle.Timer
}

// Notify notifies the client.
func (p *limitedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.idle.Restart()
	return p.Peer.Notify(ctx, method, params)
}

// Ask asks the client.
func (p *limitedPeer) Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	defer p.idle.Hold()()
	return p.Peer.Ask(ctx, q)
}

// Unwrap is for [PeerAs].
func (p *limitedPeer) Unwrap() Peer { return p.Peer }

// limited returns a context that ends a request of which nothing is heard for too long, or that takes too long in all.
func limited(ctx context.Context, o *ClientOptions) (context.Context, *idle.Timer, func()) {
	limit, total := o.Timeout, o.MaxTimeout
	if limit == 0 {
		limit = defaultTimeout
	}
	if total <= 0 {
		total = max(defaultMaxTimeout, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silent := idle.After(limit, func() {
		cancel(fmt.Errorf("no message for %v: %w", limit, context.DeadlineExceeded))
	})
	all := time.AfterFunc(total, func() {
		cancel(fmt.Errorf("not done after %v: %w", total, context.DeadlineExceeded))
	})
	return ctx, silent, func() {
		all.Stop()
		silent.Stop()
		cancel(nil)
	}
}
