package ratelimit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/state"
)

const (
	restTime    = 10 * idleTime   // time without calls after which a replica gives back the places that it borrowed ahead
	renewPause  = 3 * time.Minute // time after which the entry of running calls is written again
	keepTime    = 3 * renewPause  // how long the store keeps it
	livesPause  = time.Second     // time between two looks for replicas that died
	manyHolders = 64              // entries of one limit at which those of dead replicas are removed
)

// sharedPlaces are the places of one limit and one key at all replicas. Each replica borrows some of
// them, and runs calls in these only. The places of a replica that died return to the others when its
// sign of life ends.
type sharedPlaces struct {
	places
	shares *Shares
	key    string
	holder string // name of the entry of these places
	limit  int

	// The mutex of places guards these.
	isActive bool
	hurries  bool
	term     uint64 // in which the places were borrowed
	held     int    // borrowed places
	owed     int    // of these, how many the others get as calls here end
	ahead    int    // places that the last exchange would borrow ahead
	served   uint64 // value of passed at the last exchange
	used     time.Time
	tried    time.Time // last exchange
	wrote    time.Time // last exchange that wrote the entry
	looked   time.Time // last look for replicas that died
	failing  time.Time // since when exchanges fail; zero while they do not
}

// places returns the places of one limit. name identifies the limit and its key at all replicas.
func (s *Shares) places(name string, limit int) *sharedPlaces {
	p := &sharedPlaces{shares: s, key: sharedKey(name), holder: fmt.Sprintf("%s/%d", s.group.ID(), s.made.Add(1)), limit: limit}
	p.most = p.allowed
	return p
}

// enter implements turns.
func (p *sharedPlaces) enter(ctx context.Context) (waited bool, err error) {
	if p.shares.group.Away() != nil {
		p.shares.alone.Add(1)
	}
	p.mu.Lock()
	p.used = time.Now()
	lacks := !p.isActive || len(p.waiting) == 0 && p.taken >= p.allowed()
	p.hurries = p.hurries || lacks
	p.mu.Unlock()
	if lacks {
		p.activate()
	}
	return p.places.enter(ctx)
}

// leave implements turns.
func (p *sharedPlaces) leave() {
	p.places.leave()
	p.mu.Lock()
	// The others need a place that this replica would not borrow ahead.
	spare := len(p.waiting) == 0 && (p.owed > 0 || p.ahead == 0) && p.held > p.taken
	p.hurries = p.hurries || spare
	p.mu.Unlock()
	if spare {
		p.activate()
	}
}

// activate begins the exchanges, or makes them look at once for what is due.
func (p *sharedPlaces) activate() {
	p.mu.Lock()
	start := !p.isActive
	p.isActive = true
	p.mu.Unlock()
	if start {
		p.shares.start(p)
	} else {
		p.shares.hurry()
	}
}

// allowed returns the number of calls that may run here. The caller holds the lock.
func (p *sharedPlaces) allowed() int {
	g := p.shares.group
	switch {
	case g.Away() != nil || !p.failing.IsZero() && time.Since(p.failing) >= waitTime: // this replica's part of the limit
		return p.part()
	case p.term == 0 || g.Term() != p.term:
		return 0
	}
	return max(0, p.held-p.owed)
}

// part returns the part of the limit that this replica has without the store.
func (p *sharedPlaces) part() int {
	n := p.shares.group.Count()
	return (p.limit + n - 1) / n
}

// isDue implements synced.
func (p *sharedPlaces) isDue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, spare := now.Sub(p.tried), p.held-p.taken
	switch {
	case p.hurries:
		return true
	case len(p.waiting) > 0 || spare < 0 || p.term != p.shares.group.Term():
		return since >= hurryPause
	case since < syncPause:
		return false
	case spare > 0 && now.Sub(p.used) >= restTime || now.Sub(p.wrote) >= renewPause:
		return true
	case now.Sub(p.used) >= idleTime: // others may wait for what is spare
		return (spare > 0 || p.taken == 0) && since >= idleTime
	}
	return spare > 0 || p.ahead > 0 || p.taken == 0
}

// rest implements synced.
func (p *sharedPlaces) rest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held > 0 || p.taken > 0 || len(p.waiting) > 0 {
		return false
	}
	p.isActive = false
	return true
}

// storedPlaces are the value of a limit in the store.
type storedPlaces struct {
	Next uint64                  `json:"next"` // the next Turn
	Of   map[string]storedHolder `json:"of"`
}

// A storedHolder is the entry of a replica.
type storedHolder struct {
	Held int    `json:"held"`
	Want int    `json:"want,omitzero"` // further places that it waits for
	Turn uint64 `json:"turn,omitzero"` // the order in which the replicas that wait get places
}

// sync implements synced.
func (p *sharedPlaces) sync(ctx context.Context, end bool) (idle bool) {
	g, now := p.shares.group, time.Now()
	term := g.Term()
	p.mu.Lock()
	p.tried, p.hurries = now, false
	p.mu.Unlock()
	var err error
	if term != 0 {
		idle, err = p.exchange(ctx, now, term, end)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && term != 0:
		p.failing = time.Time{}
	case p.failing.IsZero():
		p.failing = now
	}
	p.pass()
	return idle
}

// exchange writes the entry of this replica, and borrows or gives back places.
func (p *sharedPlaces) exchange(ctx context.Context, now time.Time, term uint64, end bool) (idle bool, err error) {
	g := p.shares.group
	for try := range maxTries {
		if err := backOff(ctx, try); err != nil {
			return false, err
		}
		e, err := g.Get(ctx, p.key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return false, err
		}
		var stored storedPlaces
		if err != nil || json.Unmarshal(e.Value, &stored) != nil || stored.Of == nil {
			stored = storedPlaces{Of: map[string]storedHolder{}}
		}
		removed := p.bury(ctx, now, &stored)
		before, found := stored.Of[p.holder]
		after, owed, renews := p.plan(now, term, &stored, before, end)
		idle = after == storedHolder{}
		if idle {
			delete(stored.Of, p.holder)
		} else {
			stored.Of[p.holder] = after
		}
		if !removed && !renews && (found && before == after || !found && idle) {
			p.settle(term, after, owed, time.Time{})
			return idle, nil
		}
		text, err := json.Marshal(stored)
		if err != nil {
			return false, err
		}
		_, err = g.CompareAndSwap(ctx, p.key, e.Version, text, state.Write{TTL: keepTime})
		if err == nil {
			p.settle(term, after, owed, now)
			return idle, nil
		}
		if !errors.Is(err, state.ErrConflict) {
			return false, err
		}
	}
	return false, fmt.Errorf("the places changed %d times meanwhile: %w", maxTries, state.ErrConflict)
}

// plan returns the next entry of this replica, and how many of its places others have waited for
// longer. renews reports that the entry must be written even if it is the same: it would expire, or
// another replica may be removing it, as of one that died. Places that the entry gives back are not
// used from now on.
func (p *sharedPlaces) plan(now time.Time, term uint64, stored *storedPlaces, before storedHolder, end bool) (after storedHolder, owed int, renews bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	others, wanted := 0, 0
	for name, h := range stored.Of {
		if name != p.holder {
			others, wanted = others+h.Held, wanted+h.Want
		}
	}
	// wantedBefore returns what others have waited for since before a turn.
	wantedBefore := func(turn uint64) (sum int) {
		for name, h := range stored.Of {
			if name != p.holder && h.Want > 0 && h.Turn < turn {
				sum += h.Want
			}
		}
		return sum
	}
	turn := before.Turn
	if before.Want == 0 || p.passed != p.served {
		turn = math.MaxUint64 // after all that wait now
	}
	need := p.taken
	if !end {
		need += len(p.waiting)
	}
	room := max(p.limit-others, 0)
	if p.shares.group.Returned() { // others may not have written yet what they run
		room = min(room, p.part())
	}
	after.Held = min(need, max(room-wantedBefore(turn), p.taken))
	after.Held = max(after.Held, p.taken) // also if others run too many, after a time without the store
	p.ahead = 0
	if free := room - need; free > 0 && wanted == 0 && !end {
		p.ahead = free / p.shares.group.Count()
		if now.Sub(p.used) < restTime {
			if after.Held += p.ahead; before.Held > need && 2*(before.Held-need) >= p.ahead {
				after.Held = min(before.Held, room)
			}
		}
	}
	if after.Want = max(need-after.Held, 0); after.Want > 0 {
		if after.Turn = turn; turn == math.MaxUint64 || after.Held > before.Held {
			after.Turn = stored.Next
			stored.Next++
		}
		owed = wantedBefore(after.Turn)
	} else {
		owed = wanted
	}
	p.served = p.passed
	if after.Held < p.held {
		p.held = after.Held
	}
	return after, owed, after != storedHolder{} && (p.term != term || now.Sub(p.wrote) >= renewPause)
}

// settle takes up an entry that the store has. wrote is the time when it was written, or zero.
func (p *sharedPlaces) settle(term uint64, after storedHolder, owed int, wrote time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term, p.held, p.owed = term, after.Held, 0
	if !wrote.IsZero() {
		p.wrote = wrote
	}
	p.pass() // the entry leaves to others what they waited for
	p.owed = owed
}

// bury removes the entries of replicas that died, if places are short, and reports whether there were
// any. A replica has an entry only while it lives, or until it died.
func (p *sharedPlaces) bury(ctx context.Context, now time.Time, stored *storedPlaces) (removed bool) {
	p.mu.Lock()
	sum := 0
	for _, h := range stored.Of {
		sum += h.Held + h.Want
	}
	looks := (len(p.waiting) > 0 && sum >= p.limit || len(stored.Of) > manyHolders) && now.Sub(p.looked) >= livesPause
	if looks {
		p.looked = now
	}
	p.mu.Unlock()
	if !looks {
		return false
	}
	lives := map[string]bool{p.shares.group.ID(): true}
	for _, name := range slices.Sorted(maps.Keys(stored.Of)) {
		replica, _, _ := strings.Cut(name, "/")
		if _, known := lives[replica]; !known {
			is, err := p.shares.group.Lives(ctx, replica)
			lives[replica] = is || err != nil
		}
		if !lives[replica] {
			delete(stored.Of, name)
			removed = true
		}
	}
	return removed
}
