package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// drainTime is how long requests that run may take until they end, once their member was removed.
const drainTime = 5 * time.Second

// ErrRemoved is wrapped by the errors of requests to a member that was removed meanwhile.
var ErrRemoved = errors.New("the server was removed")

// Remove takes a member away: it is offered no longer, and its connection ends as soon as its requests
// that run have, and those that take longer than 5 seconds fail. Remove waits for that, but for no more
// than ctx allows. The error says that there is no such member, or is ctx's.
func (g *Gateway) Remove(ctx context.Context, name string) error {
	g.mu.Lock()
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		g.mu.Unlock()
		return fmt.Errorf("there is no server %q", name)
	}
	m := g.members[i]
	g.members = slices.Delete(slices.Clone(g.members), i, i+1)
	g.offer = nil
	g.mu.Unlock()
	g.changedOffer(tools | prompts | resources)
	return m.leave(ctx)
}

// Replace puts a member in the place of the one that has this name, which keeps its rank among the others;
// see [Gateway.Add] and [Gateway.Remove]. The old one has ended before the new one is started, so that
// what only one of them can use passes over.
func (g *Gateway) Replace(ctx context.Context, name string, u Upstream) error {
	before := g.member(name)
	if before == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	m, err := g.add(name, u, before)
	if err != nil {
		return err
	}
	g.changedOffer(tools | prompts | resources)
	err = before.leave(ctx)
	m.start()
	return err
}

// leave ends a member that is offered no longer.
func (m *member) leave(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	select {
	case <-m.calls.drained():
	case <-wait.Done():
	}
	m.cancel()
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gone is the error of a request that did not reach its member: that it was removed, or else err.
func (m *member) gone(err error) error {
	if m.gateway.ctx.Err() == nil {
		return fmt.Errorf("server %q: %w", m.name, ErrRemoved)
	}
	return err
}
