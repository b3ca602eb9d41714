package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSilent is the cause of the end of a ping without a response.
var errSilent = errors.New("no response to a ping")

// keepAlive pings the server until the connection ends. It calls lose if the server does not
// respond.
func (c *Client) keepAlive(lose func(error)) {
	interval := c.options.KeepAlive
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.conn.Done():
			return
		case <-c.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeoutCause(c.ctx, interval, errSilent)
		_, err := c.conn.Handle(ctx, &Request{Method: methodPing, Meta: *c.options.self, Peer: NoPeer{}})
		silent := err != nil && context.Cause(ctx) == errSilent
		cancel()
		if silent {
			lose(fmt.Errorf("server %q: %w within %v: %w", c.options.Name, errSilent, interval, ErrLost))
			return
		}
	}
}
