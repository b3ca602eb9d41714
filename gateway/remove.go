package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// drainTime is how long running requests may continue after their member was removed.
const drainTime = 5 * time.Second

// ErrRemoved is wrapped by the errors of requests whose member was removed before it got them.
var ErrRemoved = errors.New("the server was removed")

// Remove removes a member. Clients no longer get its entries, and its connection ends when its
// running requests have ended. Requests that run for more than 5 seconds fail. Remove waits for
// this, at most until ctx is done. It fails if the gateway has no member with that name, or with
// the error of ctx.
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
	g.setPrefixes() // the member may have had a prefix that another should have
	g.mu.Unlock()
	g.changedOffer(every)
	return m.leave(ctx)
}

// leave ends a member that is no longer offered, together with the members that it replaces and
// that still run.
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
