package replicas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
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
	opTimeout   = 3 * time.Second         // time limit of an operation on the store
	maxReplicas = 1_000                   // largest number of counted replicas
	maxSubjects = 100                     // largest number of subjects that are checked
)

// The keys and the topic of a Group in its store.
const (
	changedPrefix = "replicas/changed/"
	beatPrefix    = "replicas/alive/"
	changedTopic  = "replicas/changed"
)

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
	fault    error     // of the last check
	beaten   time.Time // last sign of life
	count    int       // replicas
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
	return &Group{store: store, log: log, id: rand.Text(), again: make(chan struct{}, 1), checked: time.Now(), count: 1}
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

// Replica returns the name of this replica.
func (g *Group) Replica() string { return g.id }

// Runs reports whether a replica has a sign of life. It is removed when [Group.Run] of the replica
// returns, or some seconds after the death of its process.
func (g *Group) Runs(ctx context.Context, replica string) (bool, error) {
	_, err := g.Get(ctx, beatPrefix+replica)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
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
	_ = g.store.Delete(ctx, beatPrefix+g.id, state.Hold{}) // after an error it expires
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
	subjects, beats := g.subjects, now.Sub(g.beaten) >= beatPause
	g.mu.Unlock()
	if err := g.beat(ctx, now, beats); err != nil {
		return err
	}
	counters, err := within(ctx, func(ctx context.Context) ([]state.Entry, error) {
		return g.store.List(ctx, changedPrefix, "", maxSubjects)
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.away = time.Time{} // the store responds, so the subjects can be read
	g.mu.Unlock()
	versions := map[string]state.Version{}
	for _, c := range counters {
		versions[c.Key[len(changedPrefix):]] = c.Version
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

// beat stores a sign of life if it is due, and counts those of all replicas.
func (g *Group) beat(ctx context.Context, now time.Time, due bool) error {
	if due {
		if _, err := within(ctx, func(ctx context.Context) (state.Version, error) {
			return g.store.Put(ctx, beatPrefix+g.id, []byte("{}"), state.Write{TTL: beatTime})
		}); err != nil {
			return err
		}
	}
	alive, err := within(ctx, func(ctx context.Context) ([]state.Entry, error) {
		return g.store.List(ctx, beatPrefix, "", maxReplicas)
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	isFirst := g.beaten.IsZero()
	if g.count = max(1, len(alive)); due {
		g.beaten = now
	}
	g.mu.Unlock()
	if isFirst {
		_ = g.store.Publish(ctx, changedTopic) // lets the others count again
	}
	return nil
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
