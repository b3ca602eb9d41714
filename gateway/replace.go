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
	// finishTime is how long requests that run may take until they end, once their member was replaced: longer
	// than nearly all calls, and not for ever.
	finishTime = time.Hour
	// behindTime is how long a request waits for those that the replaced member runs: most clients give up after a
	// minute, and would not hear why.
	behindTime = 45 * time.Second
)

// errReplaced is why a member is dismissed that another replaces.
var errReplaced = errors.New("the server is replaced")

// Replace puts a member in the place of the one that has this name, which keeps its rank among the others; see [Gateway.Add].
// Requests that run end where they run, within an hour, or sooner where the old one answers nothing and would be started again anyway,
// and [Status] counts them. Those that come then, and those that no server
// has yet, are for the new one. A program starts when the old one has ended, so that what only one of them can use, such as a file
// or a port, passes over: until then requests wait, and after 45 seconds they fail and say why. What an hour ends is made again where
// a second request changes nothing, and else fails and says so. The next round of a request for which the old one asked the client is for
// neither, and fails: what the user said is for nobody else. Replace does not wait for any of this. The error says that there is no such
// member, or what is wrong with u.
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

// follows has a new member be the one that replaces another. While that has requests to end, a program offers what it did,
// as far as nothing is known of the new one.
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
	m.settle() // lists need not wait for it
}

// A behind is what a member is like when it need not wait any more for the one that it replaces.
type behind struct {
	state    State
	borrowed *definitions.Definitions // of the other
}

// own is what is known of the server itself, and not of the one that it replaces: middleware decides by what a server claims, and may
// trust the one and not the other. The member's lock is held.
func (m *member) own() *definitions.Definitions {
	if m.behind != nil && m.known == m.behind.borrowed {
		return nil
	}
	return m.known
}

// takeOver waits, for a program, until the member that it replaces has ended. It reports whether there is anything to serve then.
func (m *member) takeOver(before *member) bool {
	if !m.upstream.Program {
		return true
	}
	<-before.done // finish ensures that it is closed
	m.before.CompareAndSwap(before, nil)
	m.mu.Lock()
	state := m.state
	if m.behind != nil {
		state = m.behind.state
		m.known = m.own() // what it offers is offered until its own lists are read
	}
	m.mu.Unlock()
	m.set(state, nil) // wakes those that wait
	return m.ctx.Err() == nil
}

// finish ends a member that another one replaces as soon as its requests have ended, or may not take longer.
func (m *member) finish(next *member) {
	limit := time.NewTimer(finishTime)
	defer limit.Stop()
	select {
	case <-m.calls.drained():
	case <-limit.C:
		m.gateway.log.Warn("gateway: requests that a server still runs are ended, as its configuration changed an hour ago", "server", m.name, "requests", m.running())
	case <-m.ctx.Done():
	}
	m.cancel()
	<-m.done
	next.before.CompareAndSwap(m, nil)
	m.gateway.report()
}

// running is how many requests run of the member, and of those that it replaces.
func (m *member) running() (n int) {
	for ; m != nil; m = m.before.Load() {
		n += int(m.calls.n.Load())
	}
	return n
}

// standsBehind says why the member cannot start yet; nil where that is not because of the one that it replaces.
func (m *member) standsBehind() error {
	before := m.before.Load()
	if before == nil || !m.upstream.Program {
		return nil
	}
	n, are := before.running(), "are"
	if n == 1 {
		are = "is"
	}
	return fmt.Errorf("server %q is started anew, as its configuration changed, as soon as %s %s over that it runs as it was before; try again later", m.name, plaintext.Count(n, "request"), are)
}

// continues reports whether a request belongs to one that the server got before: another server would not know what it is about.
func continues(req *mcp.Request) bool {
	return req.Round > 0 || strings.HasPrefix(req.Method, "tasks/")
}

// leaving is closed when the member takes this request no longer.
func (m *member) leaving(req *mcp.Request) <-chan struct{} {
	if continues(req) {
		return m.ctx.Done()
	}
	return m.staying.Done()
}

// gone is the error of a request that did not reach its member: where another may get the request in its place it wraps
// ErrRemoved, and when the gateway is closed it is err.
func (m *member) gone(req *mcp.Request, err error) error {
	switch {
	case m.gateway.ctx.Err() != nil:
		return err
	case continues(req):
		return m.endedFor(err)
	}
	return fmt.Errorf("server %q: %w", m.name, ErrRemoved)
}

// wasEnded reports whether an error is that of a request whose member was ended while it had the request.
func (m *member) wasEnded(err error) bool {
	return errors.Is(err, mcp.ErrClosed) && m.ctx.Err() != nil && m.gateway.ctx.Err() == nil
}

// endedAs is the error of such a request. Where the member was replaced, and a second request changes nothing, it has the one that
// there is now be asked.
func (m *member) endedAs(ctx context.Context, known *definitions.Definitions, req *mcp.Request, err error) error {
	if errors.Is(context.Cause(m.staying), errReplaced) && !continues(req) && repeats(known, req) {
		note.Repeat(ctx, m.name)
		return m.gone(req, err)
	}
	return m.endedFor(err)
}

// endedFor says who ended a member that had a request.
func (m *member) endedFor(err error) error {
	what := "removed by the operator of the gateway"
	if errors.Is(context.Cause(m.staying), errReplaced) {
		what = "started anew, as its configuration changed,"
	}
	return fmt.Errorf("server %q was %s while it had the request, which it may have executed: %w", m.name, what, err)
}
