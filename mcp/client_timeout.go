package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
)

// A limitedPeer is the Peer of a request that a bridge passes on with a timeout. Progress restarts
// the idle timer, and a request to the client pauses it. Other notifications, such as log messages,
// do not show that the server works on the request.
type limitedPeer struct {
	Peer
	idle *idle.Timer
}

// Notify restarts the timer on progress and passes the notification on.
func (p *limitedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == notificationProgress {
		p.idle.Restart()
	}
	return p.Peer.Notify(ctx, method, params)
}

// Ask pauses the timer and passes the request on.
func (p *limitedPeer) Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	defer p.idle.Hold()()
	return p.Peer.Ask(ctx, q)
}

// Unwrap implements the method that [PeerAs] needs.
func (p *limitedPeer) Unwrap() Peer { return p.Peer }

// limited returns a context that ends when a request makes no progress for too long, or takes too
// long in total.
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
		cancel(fmt.Errorf("no response or progress for %v: %w", limit, context.DeadlineExceeded))
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
