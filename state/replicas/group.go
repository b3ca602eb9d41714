package replicas

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/state"
)

const (
	checkPause  = 1500 * time.Millisecond // time between two checks for changes
	hintPause   = 20 * time.Millisecond   // shortest time between two checks
	rereadPause = time.Minute             // time after which a subject is read again without a change
	beatPause   = 5 * time.Second         // time between two signs of life of a replica
	beatTime    = 3 * beatPause           // how long a replica counts after its last sign of life
	beatMargin  = time.Second             // part of beatTime in which a replica no longer relies on its own sign of life
	opTimeout   = 3 * time.Second         // time limit of an operation on the store
	maxReplicas = 1_000                   // largest number of counted replicas
	maxCountGap = 40                      // largest mean number of checks between two counts of a replica
	maxSubjects = 100                     // largest number of subjects that are checked
)

// The keys and the topic of a Group in its store.
const (
	readPrefix    = "replicas/c" // of what each check reads
	changedPrefix = "replicas/changed/"
	countKey      = "replicas/count"
	beatPrefix    = "replicas/alive/"
	changedTopic  = "replicas/changed"
)

// A storedCount is the value of countKey. Replicas take turns to count, so that the cost of a count
// does not grow with the square of their number.
type storedCount struct {
	Replicas int `json:"replicas"`
}

// A Group is one replica's access to the store. It is a [state.Store] and a [state.Log] whose
// operations end in bounded time, and fail at once while the store is away. It is safe for concurrent use.
type Group struct {
	store state.Shared
	log   *slog.Logger
	id    string
	again chan struct{} // has a value if a check is due

	mu       sync.Mutex
	subjects []*subject
	checked  time.Time // begin of the last check that succeeded
	away     time.Time // since when the store is away; zero while it is not
	back     time.Time // when the store was back after it was away
	fault    error     // of the last check
	beaten   time.Time // begin of the last write of the sign of life
	term     uint64    // increases when the sign of life may have ended since
	count    int       // replicas
	gap      int       // checks until this replica counts the replicas
	clock    time.Time // time of the store at clockAt
	clockAt  time.Time // zero before the first measurement
}

// A subject is shared data that the replica has read.
type subject struct {
	name    string
	read    func(context.Context) error
	once    bool          // whether the data is read again only after a change
	version state.Version // of the counter, before the data was read
	at      time.Time     // when the data was read; zero before the first time
	failed  bool          // whether the last attempt to read the data failed
}

// New returns a Group. Call [Group.Run] to notice changes; without it a Group can only make them.
func New(store state.Shared, log *slog.Logger) *Group {
	return &Group{store: store, log: log, id: cryptorand.Text(), again: make(chan struct{}, 1), checked: time.Now(), count: 1}
}

// Follow makes Run call read when a replica reports a change of a subject, once at the beginning, and
// each minute. If read fails, the next check calls it again.
func (g *Group) Follow(name string, read func(context.Context) error) {
	g.follow(&subject{name: name, read: read})
}

// FollowChanges is like [Group.Follow], but does not call read each minute. A change whose report
// failed is thus not noticed.
func (g *Group) FollowChanges(name string, read func(context.Context) error) {
	g.follow(&subject{name: name, read: read, once: true})
}

func (g *Group) follow(s *subject) {
	g.mu.Lock()
	g.subjects = append(g.subjects, s)
	g.mu.Unlock()
	g.Check()
}

// Changed reports a change of a subject to all replicas. Call it after the change is stored. Replicas
// notice the change within two seconds, or within a minute if Changed fails.
func (g *Group) Changed(ctx context.Context, name string) error {
	if _, err := g.Put(ctx, changedPrefix+name, []byte("{}"), state.Write{}); err != nil {
		return fmt.Errorf("the change is stored, but running replicas may need a minute to notice it: %w", err)
	}
	_ = g.store.Publish(ctx, changedTopic) // a hint, which may be lost
	g.Check()
	return nil
}

// Check makes Run look for changes soon.
func (g *Group) Check() {
	select {
	case g.again <- struct{}{}:
	default:
	}
}

// Age returns the time since the replica last knew all subjects.
func (g *Group) Age() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.checked)
}

// Count returns the last known number of replicas, which is at least 1.
func (g *Group) Count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

// Now returns the time of the store's clock, as measured with the last sign of life. The replicas have
// it in common, even if the clocks of their machines differ or are set.
func (g *Group) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clockAt.IsZero() {
		return time.Now()
	}
	return g.clock.Add(time.Since(g.clockAt))
}

// measure reads the clock of the store.
func (g *Group) measure(ctx context.Context) error {
	began := time.Now()
	now, err := within(ctx, g.store.Now)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clockAt = time.Now()
	g.clock = now.Round(0).Add(g.clockAt.Sub(began) / 2)
	return nil
}

// Returned reports whether the store was away until some seconds ago, so that it may not yet have all
// that the replicas did meanwhile.
func (g *Group) Returned() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.returned()
}

// returned implements Returned. The caller holds the lock.
func (g *Group) returned() bool {
	return !g.away.IsZero() || !g.back.IsZero() && time.Since(g.back) < beatPause
}

// ID returns the name of this replica in the store. Each process has another one.
func (g *Group) ID() string { return g.id }

// Term returns the number of the time for which the others have known this replica without a break. It
// returns 0 while they may not know it. Rights that others withdraw from a replica that died thus
// belong to one term.
func (g *Group) Term() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.beaten.IsZero() || time.Since(g.beaten) >= beatTime-beatMargin {
		return 0
	}
	return g.term
}

// Lives reports whether the store has the sign of life of a replica.
func (g *Group) Lives(ctx context.Context, id string) (bool, error) {
	_, err := g.Get(ctx, beatPrefix+id)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Members returns the ids of the replicas whose signs of life the store has.
func (g *Group) Members(ctx context.Context) ([]string, error) {
	alive, err := g.List(ctx, beatPrefix, "", maxReplicas)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(alive))
	for i, e := range alive {
		ids[i] = strings.TrimPrefix(e.Key, beatPrefix)
	}
	return ids, nil
}

// Away returns the reason why the store is away, or nil.
func (g *Group) Away() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away.IsZero() {
		return nil
	}
	return fmt.Errorf("%w: %w", state.ErrUnavailable, g.fault)
}

// Run looks for changes until ctx is done. It then ends this replica's sign of life.
func (g *Group) Run(ctx context.Context) {
	ticker := time.NewTicker(checkPause)
	defer ticker.Stop()
	defer g.leave(ctx)
	var hints <-chan struct{}
	for {
		if hints == nil {
			hints, _ = g.store.Subscribe(ctx, changedTopic) // after an error, the next check tries again
		}
		g.check(ctx)
		select {
		case <-time.After(hintPause):
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-g.again:
		case _, open := <-hints:
			if !open {
				hints = nil
			}
		case <-ctx.Done():
			return
		}
	}
}

// leave removes the sign of life, so that the other replicas need not wait for its end.
func (g *Group) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
	defer cancel()
	g.mu.Lock()
	g.beaten = time.Time{}
	known := g.count
	g.mu.Unlock()
	if g.store.Delete(ctx, beatPrefix+g.id, state.Hold{}) != nil { // it expires
		return
	}
	_, _ = g.countAll(ctx, known) // after an error another replica counts
	_ = g.store.Publish(ctx, changedTopic)
}

// check reads the changed subjects, and notices whether the store is away.
func (g *Group) check(ctx context.Context) {
	began := time.Now()
	g.mu.Lock()
	away := g.away
	g.mu.Unlock()
	err := g.look(ctx, began)
	if ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	switch g.fault = err; {
	case err == nil:
		g.checked, g.away = began, time.Time{}
	case away.IsZero():
		g.away = began
	default:
		g.away = away
	}
	g.mu.Unlock()
	switch {
	case err != nil && away.IsZero():
		g.log.WarnContext(ctx, "the shared state is away: new logins are refused, and each replica counts limits alone", "error", err)
	case err == nil && !away.IsZero(): // as visible as the line before
		g.log.WarnContext(ctx, "the shared state is back", "after", time.Since(away).Round(time.Millisecond).String())
	}
}

func (g *Group) look(ctx context.Context, now time.Time) error {
	g.mu.Lock()
	subjects, beats, away := g.subjects, now.Sub(g.beaten) >= beatPause, !g.away.IsZero()
	g.mu.Unlock()
	if beats {
		if _, err := within(ctx, func(ctx context.Context) (state.Version, error) {
			return g.store.Put(ctx, beatPrefix+g.id, []byte("{}"), state.Write{TTL: beatTime})
		}); err != nil {
			return err
		}
		if err := g.measure(ctx); err != nil {
			return err
		}
	}
	counters, err := within(ctx, func(ctx context.Context) ([]state.Entry, error) {
		return g.store.List(ctx, readPrefix, "", maxSubjects+1)
	})
	if err != nil {
		return err
	}
	var stored storedCount
	if i := slices.IndexFunc(counters, func(e state.Entry) bool { return e.Key == countKey }); i >= 0 {
		if json.Unmarshal(counters[i].Value, &stored) != nil {
			stored = storedCount{} // no replica wrote this
		}
		counters = slices.Delete(counters, i, i+1)
	}
	if err := g.beat(ctx, now, beats, stored.Replicas); err != nil {
		return err
	}
	g.mu.Lock()
	if !g.away.IsZero() { // the store responds, so the subjects can be read
		g.away, g.back = time.Time{}, time.Now()
	}
	g.mu.Unlock()
	if away { // reports of changes may have been lost
		for _, s := range subjects {
			if !s.once {
				s.at = time.Time{}
			}
		}
	}
	versions := map[string]state.Version{}
	for _, c := range counters {
		versions[strings.TrimPrefix(c.Key, changedPrefix)] = c.Version
	}
	for _, s := range subjects {
		if !s.failed && !s.at.IsZero() && s.version == versions[s.name] && (s.once || now.Sub(s.at) < rereadPause) {
			continue
		}
		err := s.read(ctx)
		if errors.Is(err, state.ErrUnavailable) {
			return err
		}
		if err != nil && !s.failed && ctx.Err() == nil {
			g.log.ErrorContext(ctx, "shared state cannot be used", "of", s.name, "error", err)
		}
		s.version, s.at, s.failed = versions[s.name], now, err != nil
	}
	return nil
}

// beat takes over the stored count of the replicas, or counts them if it is the turn of this replica.
// beats means that it has just stored a sign of life.
func (g *Group) beat(ctx context.Context, now time.Time, beats bool, stored int) error {
	g.mu.Lock()
	isFirst := g.beaten.IsZero()
	g.gap--
	counts := isFirst || stored < 1 || stored > maxReplicas || g.gap <= 0
	g.mu.Unlock()
	count := stored
	if counts {
		var err error
		if count, err = g.countAll(ctx, stored); err != nil {
			return err
		}
	}
	g.mu.Lock()
	if g.returned() { // some signs of life have ended meanwhile
		count = max(count, g.count)
	}
	g.count = count
	if counts {
		g.gap = 1 + rand.IntN(2*min(count, maxCountGap)-1)
	}
	if beats {
		if time.Since(g.beaten) >= beatTime-beatMargin {
			g.term++
		}
		g.beaten = now
	}
	g.mu.Unlock()
	if isFirst {
		_ = g.store.Publish(ctx, changedTopic) // lets the others know the new count
	}
	return nil
}

// countAll counts the signs of life, and stores the count if it is not the stored one.
func (g *Group) countAll(ctx context.Context, stored int) (int, error) {
	return within(ctx, func(ctx context.Context) (int, error) {
		alive, err := g.store.List(ctx, beatPrefix, "", maxReplicas)
		if err != nil {
			return 0, err
		}
		count := max(1, len(alive))
		if count == stored {
			return count, nil
		}
		text, err := json.Marshal(storedCount{count})
		if err == nil {
			_, err = g.store.Put(ctx, countKey, text, state.Write{})
		}
		return count, err
	})
}

// within runs an operation on the store with its time limit.
func within[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	done, err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: it did not respond within %v", state.ErrUnavailable, opTimeout)
	}
	return done, err
}
