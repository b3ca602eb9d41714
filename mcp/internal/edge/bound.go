package edge

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

const (
	maxBound  = 4 << 10          // next rounds that a process knows to belong to it
	boundTime = 10 * time.Minute // how long it expects one
)

// A boundTable holds the rounds that must come to this process; see [mcp.State.Bind]. The zero
// value is empty. It is safe for concurrent use.
type boundTable struct {
	mu      sync.Mutex
	places  *share.Budget
	rounds  map[string]boundRound
	expired time.Time     // when expire was last called
	changed chan struct{} // closed when a round comes; nil without waiters
}

type boundRound struct {
	caller string
	until  time.Time
}

// add returns the id of a further round. There may be no room to expect it.
func (t *boundTable) add(caller string, now time.Time) (id string) {
	id = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rounds == nil {
		t.rounds, t.places = map[string]boundRound{}, share.New(maxBound)
	}
	room := t.places.Take(caller)
	if !room && now.Sub(t.expired) >= time.Minute {
		t.expire(now)
		room = t.places.Take(caller)
	}
	if room {
		t.rounds[id] = boundRound{caller, now.Add(boundTime)}
	}
	return id
}

// came removes a round, which the client has sent.
func (t *boundTable) came(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(id)
}

// remove removes a round. The caller holds the lock.
func (t *boundTable) remove(id string) {
	r, known := t.rounds[id]
	if !known {
		return
	}
	delete(t.rounds, id)
	t.places.Give(r.caller)
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// expire removes the rounds that are no longer expected. The caller holds the lock.
func (t *boundTable) expire(now time.Time) {
	t.expired = now
	for id, r := range t.rounds {
		if !now.Before(r.until) {
			t.remove(id)
		}
	}
}

// wait waits until no round is expected, or ctx is done.
func (t *boundTable) wait(ctx context.Context) error {
	for {
		t.mu.Lock()
		t.expire(time.Now())
		var changed chan struct{}
		if len(t.rounds) > 0 {
			if t.changed == nil {
				t.changed = make(chan struct{})
			}
			changed = t.changed
		}
		t.mu.Unlock()
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Replica names this process for [Edge.Elsewhere]. Call it before the Edge serves clients.
func (e *Edge) Replica(name string) { e.options.Replica = name }

// Elsewhere reports whether a request continues one that only another replica can continue.
func (e *Edge) Elsewhere(m *jsonrpc.Message, principal *mcp.Principal) bool {
	raw := m.Members.Get("requestState")
	if raw == nil || e.options.Replica == "" || !revision.MethodNamed(m.Method).Asks {
		return false
	}
	c := &modernCall{edge: e}
	c.req.Method, c.req.Params, c.req.Principal = m.Method, m.Params, principal
	s, fault := c.unseal(raw)
	return fault == nil && s.Replica != "" && s.Replica != e.options.Replica
}

// Bound returns the number of rounds that must come to this process.
func (e *Edge) Bound() int {
	e.bound.mu.Lock()
	defer e.bound.mu.Unlock()
	e.bound.expire(time.Now())
	return len(e.bound.rounds)
}

// Expected waits until all clients have sent the rounds that belong to this process.
func (e *Edge) Expected(ctx context.Context) error { return e.bound.wait(ctx) }
