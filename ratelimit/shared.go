package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	"golang.org/x/time/rate"
)

const (
	sharedPrefix = "ratelimit/"
	syncPause    = 100 * time.Millisecond // time between two syncs of a counter
	hurryPause   = 20 * time.Millisecond  // the same while a call waits for one
	waitTime     = time.Second            // how long a call waits for a sync
	idleTime     = time.Second            // time without calls after which a counter gives back its part
	maxSyncing   = 8                      // counters that are synced at the same time
	maxTries     = 20                     // attempts to change a count that other replicas change, too
	firstBackoff = 4 * time.Millisecond   // longest time between the first two attempts; it doubles with each
	lastBackoff  = syncPause              // longest time between two attempts
	// early is the part of a limit that calls may use before the first sync of a counter, divided by
	// the number of replicas.
	early = 0.1
	// maxAhead is by how much the measured time of another replica may be ahead.
	maxAhead = 5 * time.Second
)

// Shares counts the requests to all replicas of a service together. Each replica takes parts of what
// a limit allows from the store, about each 100 ms while calls run. So calls need no request to the
// store. While the store is away, each replica has its part of the limit. Shares is safe for
// concurrent use.
type Shares struct {
	group *replicas.Group
	wake  chan struct{}
	alone atomic.Uint64
	made  atomic.Uint64 // number of sharedPlaces

	mu     sync.Mutex
	active map[synced]bool
}

// A synced limit of one key is exchanged with the store while it is in use.
type synced interface {
	// isDue reports whether it should be exchanged now.
	isDue(now time.Time) bool
	// sync exchanges it, or gives everything back at the end, and reports whether it is idle.
	sync(ctx context.Context, end bool) (idle bool)
	// rest ends the exchanges, unless a call came meanwhile, and reports whether it did.
	rest() bool
}

// NewShares returns Shares that count in the store of a Group. Call [Shares.Run].
func NewShares(g *replicas.Group) *Shares {
	return &Shares{group: g, wake: make(chan struct{}, 1), active: map[synced]bool{}}
}

// Alone returns the number of requests that this replica counted alone, because the store was away.
func (s *Shares) Alone() uint64 { return s.alone.Load() }

// Run exchanges counts with the store until ctx is done. Then it gives back the parts.
func (s *Shares) Run(ctx context.Context) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
		defer cancel()
		s.sync(ctx, true)
	}()
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		for s.sync(ctx, false) {
			select {
			case <-time.After(hurryPause):
			case <-s.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// sync syncs the counters that are due, or gives everything back, and reports whether some are still
// in use.
func (s *Shares) sync(ctx context.Context, end bool) bool {
	s.mu.Lock()
	var due []synced
	now := time.Now()
	for c := range s.active {
		if end || c.isDue(now) {
			due = append(due, c)
		}
	}
	left := len(s.active) > 0
	s.mu.Unlock()
	for some := range slices.Chunk(due, maxSyncing) {
		var syncing sync.WaitGroup
		for _, c := range some {
			syncing.Go(func() {
				if idle := c.sync(ctx, end); idle {
					s.rest(c)
				}
			})
		}
		syncing.Wait()
	}
	return left && ctx.Err() == nil
}

// rest ends the syncs of a counter, unless a call came meanwhile.
func (s *Shares) rest(c synced) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.rest() {
		delete(s.active, c)
	}
}

// start begins the syncs of a counter.
func (s *Shares) start(c synced) {
	s.mu.Lock()
	s.active[c] = true
	s.mu.Unlock()
	s.hurry()
}

// hurry makes Run look at once for what is due.
func (s *Shares) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// A sharedCount counts the events of one limit and one key at all replicas. Its part is the events
// that this replica may begin without asking.
type sharedCount struct {
	shares *Shares
	key    string
	per    float64 // events in a second
	most   float64 // events at once
	after  bool    // whether events are counted afterwards, without a part

	mu       sync.Mutex
	isActive bool          // whether it is synced
	isFresh  bool          // whether it was not synced since it became active
	have     float64       // part of this replica that is left
	took     float64       // part that the last sync took
	spent    float64       // events beyond the part, which the next sync subtracts
	level    float64       // events that the store had left after the last sync
	synced   time.Time     // last sync that succeeded; zero before the first
	tried    time.Time     // last sync
	used     time.Time     // last event
	waiting  chan struct{} // closed by the next sync; nil if no call waits
	alone    *rate.Limiter // counts while the store is away; nil otherwise
}

// sharedKey returns the key of a limit in the store.
func sharedKey(name string) string {
	sum := sha256.Sum256([]byte(name))
	return sharedPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// count returns the counter of most events in a duration. name identifies the limit and its key at
// all replicas.
func (s *Shares) count(name string, most int, in time.Duration) *sharedCount {
	return &sharedCount{shares: s, key: sharedKey(name), per: float64(most) / in.Seconds(), most: float64(most)}
}

// take counts an event, or returns the time until the next one may begin. It waits for a sync if the
// part is used up, but other events may be left.
func (c *sharedCount) take(ctx context.Context) (pause time.Duration, ok bool) {
	wait := time.NewTimer(waitTime)
	defer wait.Stop()
	for {
		synced, pause, ok := c.try(time.Now())
		if synced == nil {
			return pause, ok
		}
		select {
		case <-synced:
		case <-ctx.Done():
			return syncPause, false
		case <-wait.C:
			return c.takeAlone(time.Now())
		}
	}
}

// try counts an event if it can be decided now. Otherwise it returns a channel that the next sync
// closes.
func (c *sharedCount) try(now time.Time) (synced <-chan struct{}, pause time.Duration, ok bool) {
	if c.shares.group.Away() != nil {
		pause, ok = c.takeAlone(now)
		return nil, pause, ok
	}
	c.mu.Lock()
	c.used = now
	start := !c.isActive
	if start {
		c.isActive, c.isFresh = true, true
	}
	switch {
	case c.have >= 1:
		c.have--
		ok = true
	case !c.synced.IsZero() && c.left(now) < 1: // other replicas can only have left fewer
		pause = max(time.Duration((1-c.left(now))/c.per*float64(time.Second)), syncPause)
	case c.isFresh && c.spent < math.Floor(early*c.most/float64(c.shares.group.Count())):
		c.spent++
		ok = true
	default:
		if c.waiting == nil {
			c.waiting = make(chan struct{})
		}
		synced = c.waiting
	}
	c.mu.Unlock()
	if start {
		c.shares.start(c)
	}
	return synced, pause, ok
}

// left returns the events that the store has left, as far as known. The caller holds the lock.
func (c *sharedCount) left(now time.Time) float64 {
	return min(c.most, c.level+now.Sub(c.synced).Seconds()*c.per)
}

// takeAlone counts an event in this replica's part of the limit.
func (c *sharedCount) takeAlone(now time.Time) (pause time.Duration, ok bool) {
	c.shares.alone.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	if c.alone == nil {
		n := float64(c.shares.group.Count())
		c.alone = rate.NewLimiter(rate.Limit(c.per/n), max(1, int(c.most/n)))
	}
	if c.alone.AllowN(now, 1) {
		return 0, true
	}
	due := c.alone.ReserveN(now, 1)
	defer due.CancelAt(now)
	return due.DelayFrom(now), false
}

// release lets waiting calls try again. The caller holds the lock.
func (c *sharedCount) release() {
	if c.waiting != nil {
		close(c.waiting)
		c.waiting = nil
	}
}

// over returns the number of events beyond the limit, which is negative below it.
func (c *sharedCount) over(now time.Time) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.synced.IsZero() {
		return c.spent - c.most
	}
	return c.spent - c.left(now)
}

// spend counts events that nothing refuses.
func (c *sharedCount) spend(n int) {
	c.mu.Lock()
	c.spent += float64(n)
	c.used = time.Now()
	start := !c.isActive
	c.isActive = true
	c.mu.Unlock()
	if start {
		c.shares.start(c)
	}
}

// isDue reports whether a counter should be synced now.
func (c *sharedCount) isDue(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch since := now.Sub(c.tried); {
	case c.waiting != nil:
		return since >= hurryPause
	case since < syncPause:
		return false
	case c.spent > 0 || now.Sub(c.used) >= idleTime:
		return true
	case c.have < 1 && since >= idleTime: // another replica may have given back its part
		return true
	}
	// A part of one is taken again only while calls come fast: it would mostly be given back unused.
	return c.have < c.took/2 && c.left(now) >= 1 && (c.took > 1 || now.Sub(c.used) < syncPause)
}

// rest implements synced.
func (c *sharedCount) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have > 0 || c.spent > 0 || c.waiting != nil {
		return false
	}
	c.isActive = false
	return true
}

// A storedCount is the value of a counter in the store.
type storedCount struct {
	Level float64   `json:"level"` // events that are left
	At    time.Time `json:"at"`
}

// sync exchanges the counter with the store, and reports whether it is idle. If it is, or at the end,
// the counter gives back its part; otherwise it takes another one.
func (c *sharedCount) sync(ctx context.Context, end bool) (idle bool) {
	now := time.Now()
	c.mu.Lock()
	idle = end || c.waiting == nil && now.Sub(c.used) >= idleTime
	back, spent := c.have, c.spent
	if idle && c.waiting == nil && back == 0 && spent == 0 { // it has nothing to give back
		c.mu.Unlock()
		return true
	}
	c.have = 0
	c.mu.Unlock()
	at, level, took, err := c.exchange(ctx, back-spent, !idle && !c.after)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.release()
	c.tried = now
	switch {
	case err == nil:
		c.have, c.took, c.level, c.spent, c.synced, c.alone, c.isFresh = took, took, level, c.spent-spent, at, nil, false
	case c.after: // the next sync subtracts what was spent
	case c.shares.group.Away() != nil || end:
		c.spent = 0 // and the part is lost; the level in the store grows again in time
	default:
		c.have = back
	}
	return idle
}

// backOff waits before a try that is not the first, so that replicas that collided do not collide
// again.
func backOff(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	select {
	case <-time.After(rand.N(min(firstBackoff<<try, lastBackoff))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange adds to the level in the store, and takes a part of it if needed. It returns the level at
// a time of this machine, and the part. Times in the store are those of its clock, as each replica
// measures it.
func (c *sharedCount) exchange(ctx context.Context, add float64, needs bool) (at time.Time, level, took float64, err error) {
	g := c.shares.group
	for try := range maxTries {
		if err := backOff(ctx, try); err != nil {
			return at, 0, 0, err
		}
		at = time.Now()
		e, err := g.Get(ctx, c.key)
		now := g.Now()
		stored := storedCount{c.most, now}
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return at, 0, 0, err
		}
		if err == nil && json.Unmarshal(e.Value, &stored) != nil { // no replica wrote this
			stored = storedCount{0, now}
		}
		if stored.At.Sub(now) > maxAhead { // no replica measured that
			stored.At = now
		}
		stored.Level = max(stored.Level, -c.most)
		if passed := now.Sub(stored.At); passed > 0 {
			stored.Level, stored.At = stored.Level+passed.Seconds()*c.per, now
		}
		stored.Level = min(c.most, stored.Level+add)
		took = 0
		if needs && stored.Level >= 1 {
			took = max(1, math.Floor(stored.Level/float64(g.Count())))
			stored.Level -= took
		}
		text, err := json.Marshal(stored)
		if err != nil {
			return at, 0, 0, err
		}
		whole := time.Duration((c.most - min(stored.Level, c.most)) / c.per * float64(time.Second)) // until the count is as if it were missing
		_, err = g.CompareAndSwap(ctx, c.key, e.Version, text, state.Write{TTL: whole + time.Minute})
		if !errors.Is(err, state.ErrConflict) {
			return at, stored.Level, took, err
		}
	}
	return at, 0, 0, fmt.Errorf("the count changed %d times meanwhile: %w", maxTries, state.ErrConflict)
}
