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

// A Bound is --timeout of a command that asks one server: how long the command waits in all, for the server's start, its lists and its
// response. Progress of the server gives it its time again, and while the user is asked the clock stands.
type Bound struct {
	*idle.Timer
	starting atomic.Bool // the gateway said last that it starts the server
}

// Bounded returns a context that ends by --timeout; the bound is nil without that.
func (a *App) Bounded(ctx context.Context) (context.Context, *Bound, func()) {
	limit := a.Launch.Timeout
	if limit <= 0 {
		return ctx, nil, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	b := new(Bound)
	b.Timer = idle.After(limit, func() {
		why := ""
		if b.starting.Load() {
			why = `; the server was still starting, which may take as long as "startTimeout" in its entry says`
		}
		end(fmt.Errorf("no response within %v: %w%s", limit, context.DeadlineExceeded, why))
	})
	return ctx, b, func() {
		b.Stop()
		end(nil)
	}
}

// Longer adds to the error of a command that has --timeout that this gives what came too late longer.
func Longer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "--timeout") {
		return fmt.Errorf("%w; --timeout gives it longer", err)
	}
	return err
}

// Around has a Handler's notifications and questions count.
func (b *Bound) Around(next mcp.Handler) mcp.Handler {
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

// A boundPeer is the Peer of a request that is made within a bound.
type boundPeer struct {
	mcp.Peer
	bound *Bound
}

// Unwrap returns the Peer that it is around.
func (p *boundPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify notifies the client.
func (p *boundPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	starting := method == "notifications/progress" && jsonrpc.Get(jsonrpc.Get(params, "_meta"), note.Starting) != nil
	if p.bound.starting.Store(starting); !starting {
		p.bound.Restart()
	}
	return p.Peer.Notify(ctx, method, params)
}

// Ask asks the client.
func (p *boundPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	defer p.bound.Hold()()
	return p.Peer.Ask(ctx, q)
}
