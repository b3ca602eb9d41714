package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/mcp"
)

// Log messages that a member sends while it has no call go to the client that used it last, if it listens, and its edge looks at
// their level. A member that several users used logs for nobody, and one that several clients of a user did for nobody until the
// messages about what the one before did are over.

// lateTime is how long after another client began to use a member its log messages are for neither of them.
const lateTime = 10 * time.Second

// A hearing is a listen request of a client.
type hearing struct {
	listener *changes.Listener
	has      func(*member) bool // what the client is offered
	req      *mcp.Request
}

// hear has log messages passed to a listen request until the function that it returns is called.
func (g *Gateway) hear(h *hearing) (over func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hearings = append(g.hearings, h)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		i := slices.Index(g.hearings, h)
		g.hearings = slices.Delete(g.hearings, i, i+1)
	}
}

// pass passes a log message of a member on to those who may have it.
func (g *Gateway) pass(m *member, hears func(*hearing) bool, params json.RawMessage) {
	g.mu.RLock()
	all := slices.Clone(g.hearings)
	g.mu.RUnlock()
	if len(all) == 0 {
		return
	}
	params = slices.Clone(params)
	for _, h := range all {
		if h.has(m) && hears(h) {
			h.listener.Pass(notifyMessage, params)
		}
	}
}

// hearsShared reports whether log messages of a connection that all share are for a client.
func (m *member) hearsShared(h *hearing) bool {
	if m.isolated() {
		return false // it is there to read the lists, and nobody's
	}
	return m.users.may(h.req)
}

// hearsInstance reports the same of an instance. Whose it is where [Upstream.Whose] says it is not asked for a log message.
func (m *member) hearsInstance(ctx context.Context, h *hearing, whose any) bool {
	if m.upstream.Whose != nil {
		return false
	}
	id, err := m.identityOf(ctx, h.req)
	return err == nil && id == whose
}

// users says who used a member last, and whether others did before.
type users struct{ last atomic.Pointer[user] }

type user struct {
	identity
	caller any       // the session or connection of the client
	others bool      // another identity used the member, too
	since  time.Time // when another client had used it before; zero: none had
}

// note notes whose a request is.
func (u *users) note(req *mcp.Request) {
	id := principalOf(req)
	for {
		last := u.last.Load()
		if last != nil && last.identity == id && last.caller == req.Caller {
			return
		}
		next := &user{identity: id, caller: req.Caller}
		if last != nil {
			next.others, next.since = last.others || last.identity != id, time.Now()
		}
		if u.last.CompareAndSwap(last, next) {
			return
		}
	}
}

// may reports whether log messages that belong to no call may be for whoever made a request.
func (u *users) may(req *mcp.Request) bool {
	last := u.last.Load()
	return last == nil ||
		!last.others && last.identity == principalOf(req) && last.caller == req.Caller && (last.since.IsZero() || time.Since(last.since) >= lateTime)
}
