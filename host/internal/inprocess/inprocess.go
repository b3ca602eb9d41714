// Package inprocess connects to servers that are in this process.
package inprocess

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A Transport connects to a server in this process.
type Transport struct {
	Name    string
	Handler mcp.Handler
}

// Connect implements [mcp.Transport].
func (t Transport) Connect(context.Context, mcp.ConnectOptions) (mcp.Conn, error) {
	c := &conn{handler: t.Handler}
	c.lost, c.lose = context.WithCancelCause(context.Background())
	return c, nil
}

func (t Transport) String() string { return t.Name }

// A conn is the connection. It is lost if the server is itself a client that lost its connection:
// when a list fails, or when listening fails because that client is closed. Running calls continue.
type conn struct {
	handler mcp.Handler
	lost    context.Context
	lose    context.CancelCauseFunc
}

// Handle implements [mcp.Handler].
func (c *conn) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
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

// Revision implements [mcp.Conn].
func (c *conn) Revision() string { return "" }

// Done implements [mcp.Conn].
func (c *conn) Done() <-chan struct{} { return c.lost.Done() }

// Err implements [mcp.Conn].
func (c *conn) Err() error { return context.Cause(c.lost) }

// Close implements [mcp.Conn].
func (c *conn) Close() error {
	c.lose(mcp.ErrClosed)
	return nil
}
