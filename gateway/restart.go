package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// errRestarted is the cause of the end of a connection by Restart.
var errRestarted = errors.New("the server is being restarted")

// Restart ends the connection to a member, or the wait for the next attempt, and connects again at
// once. Unless the member's definitions are remembered, clients do not get its entries until they
// are read again. Restart does not wait for the new connection, nor for requests of members that
// this one replaces. It fails if the gateway has no member with that name, or if the member is a
// Handler in this process.
func (g *Gateway) Restart(name string) error {
	m := g.member(name)
	if m == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	if m.upstream.Handler != nil {
		return fmt.Errorf("server %q is part of this program; there is nothing to restart", name)
	}
	for before := m.before.Load(); before != nil; before = before.before.Load() { // the new connection would wait for the replaced members
		before.cancel()
	}
	m.instances.end(errRestarted)
	m.mu.Lock()
	m.restarted, m.cut = true, m.client
	m.err, m.failures, m.retry = nil, 0, time.Time{}
	end := m.end
	m.mu.Unlock()
	if end != nil {
		end(errRestarted)
	}
	m.want()
	return nil
}

// attempt returns the context of one attempt to connect and of the resulting connection. Restart
// ends the context.
func (m *member) attempt(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end, m.restarted = end, false
	return ctx, end
}

// wasCut reports whether Restart ended the connection c.
func (m *member) wasCut(c *mcp.Client) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return c != nil && m.cut == c
}

// isRestarted reports whether a restart was requested and no attempt to connect has followed yet.
func (m *member) isRestarted() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.restarted
}

// wasRestarted returns the error of a request that Restart ended.
func (m *member) wasRestarted(err error) error {
	return fmt.Errorf("server %q was restarted by the operator of the gateway while it had the request, which it may have executed: %w", m.name, err)
}
