package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

// A Timeout is the time limit of --timeout for a command that calls one server. The limit is for
// the server's start, lists and response together. Progress restarts the clock. The clock stops
// while the user is asked.
type Timeout struct {
	*idle.Timer
	starting atomic.Bool // whether the last progress was that a gateway starts the server
}

// WithTimeout returns a context that ends at --timeout, and the Timeout, which is nil without
// --timeout. The caller must call the returned function.
func (a *App) WithTimeout(ctx context.Context) (context.Context, *Timeout, func()) {
	limit := a.Launch.Timeout
	if limit <= 0 {
		return ctx, nil, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	b := new(Timeout)
	b.Timer = idle.After(limit, func() {
		why := ""
		if b.starting.Load() {
			why = `; the server was still starting; "startTimeout" in its entry allows it more time`
		}
		end(fmt.Errorf("no response within %v: %w%s", limit, context.DeadlineExceeded, why))
	})
	return ctx, b, func() {
		b.Stop()
		end(nil)
	}
}

// AddTimeoutHint adds advice about --timeout to an error because of a deadline.
func AddTimeoutHint(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "--timeout") {
		return fmt.Errorf("%w; --timeout allows more time", err)
	}
	return err
}

// Middleware returns a Handler that restarts the clock at progress and stops it during requests to
// the user. If b is nil, it returns next.
func (b *Timeout) Middleware(next mcp.Handler) mcp.Handler {
	if b == nil {
		return next
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Peer == nil {
			return next.Handle(ctx, req)
		}
		counted := *req
		counted.Peer = &boundPeer{req.Peer, b}
		return next.Handle(ctx, &counted)
	})
}

// A boundPeer is the Peer of a request with a Timeout.
type boundPeer struct {
	mcp.Peer
	bound *Timeout
}

// Unwrap returns the wrapped Peer, for [mcp.PeerAs].
func (p *boundPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *boundPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/progress" {
		starting := jsonrpc.Get(jsonrpc.Get(params, "_meta"), note.Starting) != nil
		if p.bound.starting.Store(starting); !starting {
			p.bound.Restart()
		}
	}
	return p.Peer.Notify(ctx, method, params)
}

// Ask implements [mcp.Peer].
func (p *boundPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	defer p.bound.Hold()()
	return p.Peer.Ask(ctx, q)
}
