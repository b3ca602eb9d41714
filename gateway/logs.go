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

// Log messages that a member sends without a call go to the client that used it last, if it
// listens; its edge checks their level. If several users used the member, no client gets them. If
// several clients of one user did, no client gets them until the messages about the earlier client
// are over.

// lateTime is how long after another client began to use a member its log messages are for neither
// client.
const lateTime = 10 * time.Second

// A hearing is a listen request of a client.
type hearing struct {
	listener *changes.Listener
	has      func(*member) bool // reports whether a member is offered to the client
	req      *mcp.Request
}

// hear passes log messages to a listen request until over is called.
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

// pass passes a log message of a member to the clients that may get it.
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

// hearsShared reports whether a client may get log messages of a connection that all clients share.
func (m *member) hearsShared(h *hearing) bool {
	if m.isolated() {
		return false // as it only reads the lists, for no client
	}
	return m.users.may(h.req)
}

// hearsInstance reports the same for an instance. With [Upstream.Whose] the user of the instance is
// not looked up for a log message, so no client gets it.
func (m *member) hearsInstance(ctx context.Context, h *hearing, whose any) bool {
	if m.upstream.Whose != nil {
		return false
	}
	id, err := m.identityOf(ctx, h.req)
	return err == nil && id == whose
}

// users records which client used a member last, and whether others did before.
type users struct{ last atomic.Pointer[user] }

type user struct {
	identity
	caller any       // the session or connection of the client
	others bool      // is set if another identity used the member, too
	since  time.Time // when this client began to use it after another one; zero if there was no other
}

// note records the client of a request.
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

// may reports whether the client of a request may get log messages that belong to no call.
func (u *users) may(req *mcp.Request) bool {
	last := u.last.Load()
	return last == nil ||
		!last.others && last.identity == principalOf(req) && last.caller == req.Caller && (last.since.IsZero() || time.Since(last.since) >= lateTime)
}
