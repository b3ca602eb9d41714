package authserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/state"
)

const (
	attemptPrefix = "authserver/attempts/"
	maxVerified   = 10_000 // logins whose tokens are accepted while the store is away
	awayPause     = "5"    // seconds after which clients may try again while the store is away
)

// isAway reports whether an error means that the store cannot be reached.
func isAway(err error) bool {
	return errors.Is(err, state.ErrUnavailable) || errors.Is(err, listfile.ErrStale)
}

// refuseAway responds with 503 to a request that needs the store while it is away, and reports
// whether it did.
func (s *Server) refuseAway(w http.ResponseWriter, r *http.Request) bool {
	g := s.options.Replicas
	if g == nil || g.Away() == nil || r.URL.Path == keysPath || r.URL.Path == metadataPath || r.URL.Path == openIDPath {
		return false
	}
	w.Header().Set("Retry-After", awayPause)
	refuse(w, http.StatusServiceUnavailable, "temporarily_unavailable", "logins are not possible now; try again in some seconds")
	return true
}

// ended lets all replicas check their tokens again, after a login or a grant ended.
func (s *Server) ended(ctx context.Context) {
	if g := s.options.Replicas; g != nil {
		if err := g.Changed(ctx, SharedLogins); err != nil {
			s.options.Logger.ErrorContext(ctx, "a login ended", "error", err)
		}
	}
}

// Forget makes the server accept no token while the store is away that it has not verified since.
// Call it when a login may have ended.
func (s *Server) Forget() { s.verified.drop() }

// verified holds the groups of the logins whose tokens the server verified, by grant. They can be
// used while the store is away. The zero value is empty.
type verified struct {
	mu          sync.Mutex
	now, before map[string]verifiedLogin // before has those of the time before turned
	turned      time.Time
	turn        uint64 // increases when all are dropped
}

type verifiedLogin struct {
	groups []string
	until  time.Time
}

// begin returns the turn for put.
func (v *verified) begin() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.turn
}

// put stores the groups of a grant that was verified, unless the turn in which that began is over.
func (v *verified) put(grant string, groups []string, now time.Time, keep time.Duration, turn uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if turn != v.turn {
		return
	}
	if v.now == nil || now.Sub(v.turned) >= keep || len(v.now) >= maxVerified {
		v.now, v.before, v.turned = map[string]verifiedLogin{}, v.now, now
	}
	v.now[grant] = verifiedLogin{groups, now.Add(keep)}
}

// get returns the groups of a grant that was verified lately.
func (v *verified) get(grant string, now time.Time) (groups []string, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one, found := v.now[grant]
	if !found {
		one, found = v.before[grant]
	}
	return one.groups, found && now.Before(one.until)
}

func (v *verified) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now, v.before = nil, nil
	v.turn++
}

// A sharedTries is the value of a counter of attempts in the store.
type sharedTries struct {
	Count int       `json:"count"`
	Until time.Time `json:"until"`
}

// take counts attempts of this replica, and with Replicas those of all. If the store is away, the
// attempt fails later, as nothing can be stored.
func (s *Server) take(ctx context.Context, now time.Time, in time.Duration, all ...attempt) bool {
	if !s.attempts.take(now, in, all...) {
		return false
	}
	if s.options.Replicas == nil {
		return true
	}
	for i, one := range all {
		if counted, err := s.takeShared(ctx, in, one, 1); err == nil && !counted {
			s.forget(ctx, in, all[:i]...)
			s.attempts.forget(all[i:]...)
			return false
		}
	}
	return true
}

// forget subtracts attempts that succeeded.
func (s *Server) forget(ctx context.Context, in time.Duration, all ...attempt) {
	s.attempts.forget(all...)
	if s.options.Replicas == nil {
		return
	}
	for _, one := range all {
		_, _ = s.takeShared(context.WithoutCancel(ctx), in, one, -1) // after an error it counts until its time is over
	}
}

// takeShared adds to a counter in the store, unless it is at its limit. A counter of 0 ends soon.
func (s *Server) takeShared(ctx context.Context, in time.Duration, one attempt, add int) (counted bool, err error) {
	key := attemptPrefix + hash(one.name)
	for {
		var t sharedTries
		version, err := s.load(ctx, key, &t)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return false, err
		}
		now := s.options.Replicas.Now()
		if !now.Before(t.Until) {
			t = sharedTries{Until: now.Add(in)}
		}
		if add > 0 && t.Count >= one.most {
			return false, nil
		}
		t.Count = max(0, t.Count+add)
		keep := max(t.Until.Sub(now), time.Second)
		if t.Count == 0 {
			keep = time.Second
		}
		_, err = s.swap(ctx, key, version, t, keep)
		if !errors.Is(err, state.ErrConflict) {
			return err == nil, err
		}
	}
}
