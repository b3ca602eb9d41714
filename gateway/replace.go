package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// finishTime is how long running requests may continue after their member was replaced. Nearly
	// all calls are shorter.
	finishTime = time.Hour
	// behindTime is how long a request waits for the running requests of the replaced member. Most
	// clients cancel after a minute, and would not get the reason.
	behindTime = 45 * time.Second
)

// errReplaced is the cause of the dismissal of a member that another one replaces.
var errReplaced = errors.New("the server is replaced")

// Replace replaces the member with the given name by a new one. The new member keeps its rank among
// the others; see [Gateway.Add].
//
// Running requests continue at the old server for at most an hour, and [Status] counts them. They
// end sooner if the old server stops answering pings and would be restarted anyway. Later requests,
// and requests that no server has yet, go to the new server. If the new server is a program, it
// starts when the old one has ended, so that both can use the same file or port. Until then
// requests wait; after 45 seconds they fail with the reason.
//
// A request that is ended after an hour is repeated if a second one changes nothing, and otherwise
// fails with the reason. If the old server asked the client for input, the next round of that
// request fails, as no other server may get the user's response.
//
// Replace does not wait for any of this. It fails if the gateway has no member with that name, or
// if u is not valid.
func (g *Gateway) Replace(name string, u Upstream) error {
	before := g.member(name)
	if before == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	m, err := g.add(name, u, before)
	if err != nil {
		return err
	}
	before.dismiss(errReplaced)
	g.changedOffer(every)
	m.start(before)
	g.running.Go(func() { before.finish(m) })
	return nil
}

// follows makes a new member the replacement of another. If the new member is a program whose own
// lists are not known yet, it offers the lists of the old member while that member still has
// running requests.
func (m *member) follows(before *member) {
	m.before.Store(before)
	if !m.upstream.Program || before.running() == 0 {
		return
	}
	m.behind = &behind{state: m.state}
	m.state, m.doing = Waiting, "what runs as it was configured before ends first"
	if m.known == nil {
		before.mu.RLock()
		m.known, m.behind.borrowed, m.listings, m.listedOf = before.known, before.known, before.listings, before.listedOf
		before.mu.RUnlock()
	}
	m.settle() // lists need not wait for the member
}

// A behind holds the state that a member gets once it no longer waits for the member that it
// replaces.
type behind struct {
	state    State
	borrowed *definitions.Definitions // the definitions of the replaced member
}

// own returns the known definitions of the server itself, and not the borrowed ones of the server
// that it replaces. Middleware decides by the claims of a server, and may trust only one of the
// two. The caller holds the member's lock.
func (m *member) own() *definitions.Definitions {
	if m.behind != nil && m.known == m.behind.borrowed {
		return nil
	}
	return m.known
}

// takeOver waits until the replaced member has ended, if the new one is a program. It reports
// whether the new member should then be served.
func (m *member) takeOver(before *member) bool {
	if !m.upstream.Program {
		return true
	}
	<-before.done // closed by finish at the latest
	m.before.CompareAndSwap(before, nil)
	m.mu.Lock()
	state := m.state
	if m.behind != nil {
		state = m.behind.state
		m.known = m.own() // the borrowed lists stay offered until its own are read
	}
	m.mu.Unlock()
	m.set(state, nil) // wakes the waiting requests
	return m.ctx.Err() == nil
}

// finish ends a replaced member as soon as its requests have ended, or after finishTime.
func (m *member) finish(next *member) {
	limit := time.NewTimer(finishTime)
	defer limit.Stop()
	select {
	case <-m.calls.drained():
	case <-limit.C:
		m.gateway.log.Warn("gateway: running requests of a server are ended, because its configuration changed an hour ago", "server", m.name, "requests", m.running())
	case <-m.ctx.Done():
	}
	m.cancel()
	<-m.done
	next.before.CompareAndSwap(m, nil)
	m.gateway.report()
}

// running returns the number of running requests of the member and of the members that it replaces.
func (m *member) running() (n int) {
	for ; m != nil; m = m.before.Load() {
		n += int(m.calls.n.Load())
	}
	return n
}

// waitError returns the reason why the member cannot start yet because it waits for the member that
// it replaces, or nil.
func (m *member) waitError() error {
	before := m.before.Load()
	if before == nil || !m.upstream.Program {
		return nil
	}
	n, are := before.running(), "are"
	if n == 1 {
		are = "is"
	}
	return fmt.Errorf("the configuration of server %q changed; it restarts when %s with the old one %s finished; try again later", m.name, plaintext.Count(n, "request"), are)
}

// continues reports whether a request continues an earlier one at the same server, so that another
// server cannot handle it.
func continues(req *mcp.Request) bool {
	return req.Round > 0 || strings.HasPrefix(req.Method, "tasks/")
}

// leaving returns a channel that is closed when the member no longer accepts req.
func (m *member) leaving(req *mcp.Request) <-chan struct{} {
	if continues(req) {
		return m.ctx.Done()
	}
	return m.staying.Done()
}

// goneError returns the error of a request that did not reach its member. It wraps ErrRemoved if
// another member may get the request. It returns err if the gateway is closed.
func (m *member) goneError(req *mcp.Request, err error) error {
	switch {
	case m.gateway.ctx.Err() != nil:
		return err
	case continues(req):
		return m.removedError(err)
	}
	return fmt.Errorf("server %q: %w", m.name, ErrRemoved)
}

// wasEnded reports whether err is the error of a request that its member got before the member was
// ended.
func (m *member) wasEnded(err error) bool {
	return errors.Is(err, mcp.ErrClosed) && m.ctx.Err() != nil && m.gateway.ctx.Err() == nil
}

// endedError returns the error of a request whose member was ended while it had the request. If the
// member was replaced and a second request changes nothing, the error makes the gateway send the
// request to the present member.
func (m *member) endedError(ctx context.Context, known *definitions.Definitions, req *mcp.Request, err error) error {
	if errors.Is(context.Cause(m.staying), errReplaced) && !continues(req) && repeats(known, req) {
		note.Repeat(ctx, m.name)
		return m.goneError(req, err)
	}
	return m.removedError(err)
}

// removedError returns the error of a request whose member was removed or replaced while it had the
// request.
func (m *member) removedError(err error) error {
	what := "removed by the operator of the gateway"
	if errors.Is(context.Cause(m.staying), errReplaced) {
		what = "restarted, because its configuration changed,"
	}
	return fmt.Errorf("server %q was %s while it had the request, which it may have executed: %w", m.name, what, err)
}
