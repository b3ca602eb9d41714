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
	g.offer, g.removed = nil, true
	g.setPrefixes() // it may have had the one that another should have
	g.mu.Unlock()
	g.changedOffer(every)
	return m.leave(ctx)
}

// leave ends a member that is offered no longer, and those that it replaces and that still run.
func (m *member) leave(ctx context.Context) error {
	m.dismiss(nil)
	wait, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for one := m; one != nil; one = one.before.Load() {
		select {
		case <-one.calls.drained():
		case <-wait.Done():
		}
	}
	for one := m; one != nil; one = one.before.Load() {
		one.cancel()
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
