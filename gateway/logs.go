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

// Log messages that a member sends outside of a call go to the client that used the member last, if
// that client listens. The edge of the client checks their level. If several users have used the
// member, no client gets the messages. If several clients of one user have used it, no client gets
// them until messages about the earlier client have ended.

// lateTime is how long log messages of a member go to no client after another client began to use
// it.
const lateTime = 10 * time.Second

// A logListener is a listen request of a client.
type logListener struct {
	listener *changes.Listener
	has      func(*member) bool // reports whether a member is offered to the client
	req      *mcp.Request
}

// addLogListener passes log messages to the client of a listen request until over is called.
func (g *Gateway) addLogListener(h *logListener) (over func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.logListeners = append(g.logListeners, h)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		i := slices.Index(g.logListeners, h)
		g.logListeners = slices.Delete(g.logListeners, i, i+1)
	}
}

// pass sends a log message of a member to the clients for which gets reports true.
func (g *Gateway) pass(m *member, gets func(*logListener) bool, params json.RawMessage) {
	g.mu.RLock()
	all := slices.Clone(g.logListeners)
	g.mu.RUnlock()
	if len(all) == 0 {
		return
	}
	params = slices.Clone(params)
	for _, h := range all {
		if h.has(m) && gets(h) {
			h.listener.Pass(notifyMessage, params)
		}
	}
}

// getsSharedLogs reports whether a client may get log messages of the connection that all clients
// share.
func (m *member) getsSharedLogs(h *logListener) bool {
	if m.isolated() {
		return false // this connection only reads the lists, for no client
	}
	return m.users.may(h.req)
}

// getsInstanceLogs reports whether a client may get log messages of an instance. With
// [Upstream.Whose] no client gets them, as Whose is not called for each message.
func (m *member) getsInstanceLogs(ctx context.Context, h *logListener, whose any) bool {
	if m.upstream.Whose != nil {
		return false
	}
	id, err := m.identityOf(ctx, h.req)
	return err == nil && id == whose
}

// users records which client used a member last, and whether others used it before.
type users struct{ last atomic.Pointer[user] }

type user struct {
	identity
	caller any       // the session or connection of the client
	others bool      // set if another identity used the member, too
	since  time.Time // when this client began to use the member after another one; zero if there was no other
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
