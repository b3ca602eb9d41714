package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// within says how the gateway reaches a server in this process: as any other, so that one that fails is tried again.
func (h *Host) within(s Server) gateway.Upstream {
	if h.options.Middleware != nil {
		s.Handler = mcp.Chain(s.Handler, h.options.Middleware(s.Name))
	}
	return gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, listTime)
		defer cancel()
		client, err := mcp.DialWith(ctx, inProcess{s}, mcp.ClientOptions{Name: s.Name, Logger: h.log})
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", s.Name, err)
		}
		return client, nil
	}}
}

// An inProcess is the Transport to a server in this process.
type inProcess struct{ Server }

// Connect implements [mcp.Transport].
func (p inProcess) Connect(context.Context, mcp.ConnectOptions) (mcp.Conn, error) {
	c := &inProcessConn{handler: p.Handler}
	c.lost, c.lose = context.WithCancelCause(context.Background())
	return c, nil
}

func (p inProcess) String() string { return p.Name }

// An inProcessConn has no connection that could be lost, but where the server is a client. It is lost where a list fails, or
// listening as that client is closed; the calls that run then go on.
type inProcessConn struct {
	handler mcp.Handler
	lost    context.Context
	lose    context.CancelCauseFunc
}

// Handle implements [mcp.Handler].
func (c *inProcessConn) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "ping" {
		return mcp.Result{JSON: json.RawMessage(`{}`)}, nil
	}
	result, err := c.handler.Handle(ctx, req)
	if err == nil || ctx.Err() != nil || errors.As(err, new(*mcp.Error)) {
		return result, err
	}
	if lists := revision.MethodNamed(req.Method).Key != ""; lists || req.Method == "subscriptions/listen" && (errors.Is(err, mcp.ErrClosed) || errors.Is(err, mcp.ErrLost)) {
		c.lose(err)
	}
	return result, err
}

// Revision implements [mcp.Conn]: none is spoken.
func (c *inProcessConn) Revision() string { return "" }

// Done implements [mcp.Conn].
func (c *inProcessConn) Done() <-chan struct{} { return c.lost.Done() }

// Err implements [mcp.Conn].
func (c *inProcessConn) Err() error { return context.Cause(c.lost) }

// Close implements [mcp.Conn].
func (c *inProcessConn) Close() error {
	c.lose(mcp.ErrClosed)
	return nil
}
