package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
)

// A faulty store is broken or deaf for a while.
type faulty struct {
	state.Shared
	broken, silent, deaf atomic.Bool
	ops                  atomic.Int64
}

func (f *faulty) fault(ctx context.Context) error {
	f.ops.Add(1)
	if f.silent.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.broken.Load() {
		return errors.New("connection refused")
	}
	return nil
}

func (f *faulty) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := f.fault(ctx); err != nil {
		return state.Entry{}, err
	}
	return f.Shared.Get(ctx, key)
}

func (f *faulty) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if err := f.fault(ctx); err != nil {
		return nil, err
	}
	return f.Shared.List(ctx, prefix, after, limit)
}

func (f *faulty) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if err := f.fault(ctx); err != nil {
		return "", err
	}
	return f.Shared.Put(ctx, key, value, w)
}

func (f *faulty) Publish(ctx context.Context, topic string) error {
	if f.deaf.Load() {
		return nil
	}
	return f.Shared.Publish(ctx, topic)
}

// started runs a Group until the test ends.
func started(t *testing.T, store state.Shared, log *slog.Logger) *Group {
	g := New(store, log)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return g
}

// A change is noticed at once by a hint, and within two seconds without it.
func TestChangesAreNoticed(t *testing.T) {
	for name, test := range map[string]struct {
		deaf   bool
		within time.Duration
	}{"by a hint": {false, 100 * time.Millisecond}, "without hints": {true, 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{Shared: state.NewMemory(0)}
				defer store.Close()
				store.deaf.Store(test.deaf)
				here, there := started(t, store, slog.New(slog.DiscardHandler)), started(t, store, slog.New(slog.DiscardHandler))
				var reads, others atomic.Int64
				there.Follow("a", func(context.Context) error { reads.Add(1); return nil })
				there.Follow("b", func(context.Context) error { others.Add(1); return nil })
				time.Sleep(10 * time.Second)
				if here.Count() != 2 || there.Count() != 2 {
					t.Errorf("%d and %d replicas", here.Count(), there.Count())
				}
				reads.Store(0)
				others.Store(0)
				if err := here.Changed(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(test.within)
				if reads.Load() != 1 || others.Load() != 0 {
					t.Errorf("read %d and %d times", reads.Load(), others.Load())
				}
			})
		})
	}
}

// A change whose report was lost is noticed within a minute, and a failed read is repeated.
func TestSubjectsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		defer store.Close()
		g := started(t, store, slog.New(slog.DiscardHandler))
		var reads atomic.Int64
		g.Follow("a", func(context.Context) error {
			if reads.Add(1) == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		var once atomic.Int64
		g.FollowChanges("b", func(context.Context) error { once.Add(1); return nil })
		time.Sleep(5 * time.Second)
		if n := reads.Load(); n != 2 {
			t.Errorf("read %d times", n)
		}
		time.Sleep(rereadPause)
		if n := reads.Load(); n != 3 {
			t.Errorf("read %d times after a minute", n)
		}
		if n := once.Load(); n != 1 {
			t.Errorf("without a change, read %d times", n)
		}
	})
}

// While the store is away, operations fail at once. One line says when that begins and when it ends.
func TestAStoreIsAway(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprintf("silent %t", silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{Shared: state.NewMemory(0)}
				defer store.Close()
				var lines bytes.Buffer
				g := started(t, store, slog.New(slog.NewTextHandler(&lines, nil)))
				time.Sleep(10 * time.Second)
				store.broken.Store(!silent)
				store.silent.Store(silent)
				began := time.Now()
				for g.Away() == nil && time.Since(began) < time.Minute {
					time.Sleep(10 * time.Millisecond)
				}
				if passed := time.Since(began); passed > checkPause+opTimeout+time.Second {
					t.Errorf("it is noticed after %v", passed)
				}
				time.Sleep(20 * time.Second)
				ops, called := store.ops.Load(), time.Now()
				if _, err := g.Get(t.Context(), "k"); !errors.Is(err, state.ErrUnavailable) || time.Since(called) > 0 || store.ops.Load() != ops {
					t.Errorf("an operation: %v after %v", err, time.Since(called))
				}
				if age := g.Age(); age < 20*time.Second {
					t.Errorf("age %v", age)
				}
				store.broken.Store(false)
				store.silent.Store(false)
				time.Sleep(checkPause + opTimeout)
				if err := g.Away(); err != nil || g.Age() > 2*checkPause {
					t.Errorf("afterwards: %v, age %v", err, g.Age())
				}
				if log := lines.String(); strings.Count(log, "is away") != 1 || strings.Count(log, "is back") != 1 || strings.Count(log, "\n") != 2 {
					t.Errorf("log: %s", log)
				}
			})
		})
	}
}

// A replica that ends is not counted any more, and one that was killed after its sign of life ends.
func TestReplicasAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		defer store.Close()
		g := started(t, store, slog.New(slog.DiscardHandler))
		if _, err := store.Put(t.Context(), beatPrefix+"killed", []byte("{}"), state.Write{TTL: beatTime}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			New(store, slog.New(slog.DiscardHandler)).Run(ctx)
		}()
		time.Sleep(5 * time.Second)
		if g.Count() != 3 {
			t.Errorf("%d replicas", g.Count())
		}
		cancel()
		<-ended
		time.Sleep(time.Second)
		if g.Count() != 2 {
			t.Errorf("%d replicas after one ended", g.Count())
		}
		time.Sleep(beatTime)
		if g.Count() != 1 {
			t.Errorf("%d replicas after one was killed", g.Count())
		}
	})
}

// A reading store counts operations, and the entries that they read.
type reading struct {
	state.Shared
	ops, entries atomic.Int64
}

func (r *reading) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	r.ops.Add(1)
	return r.Shared.Put(ctx, key, value, w)
}

func (r *reading) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	all, err := r.Shared.List(ctx, prefix, after, limit)
	r.ops.Add(1)
	r.entries.Add(int64(len(all)))
	return all, err
}

// The costs of a replica that has nothing to do hardly grow with the number of replicas.
func TestCostsOfIdleReplicas(t *testing.T) {
	const minutes = 5
	for _, n := range []int{1, 4, 16, 64, 256} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &reading{Shared: state.NewMemory(0)}
				defer store.Close()
				var all []*Group
				for range n {
					g := started(t, store, slog.New(slog.DiscardHandler))
					g.FollowChanges("a", func(context.Context) error { return nil })
					all = append(all, g)
				}
				time.Sleep(2 * beatTime)
				for i, g := range all {
					if g.Count() != n {
						t.Fatalf("replica %d counts %d replicas", i, g.Count())
					}
				}
				store.ops.Store(0)
				store.entries.Store(0)
				time.Sleep(minutes * time.Minute)
				seconds := float64(n * minutes * 60)
				ops, entries := float64(store.ops.Load())/seconds, float64(store.entries.Load())/seconds
				if ops > 1.6 || entries > 2+float64(n)/maxCountGap {
					t.Errorf("a replica has %.2f operations a second, and reads %.1f entries", ops, entries)
				}
			})
		})
	}
}

// A replica has the same term while the others know it without a break, and none while they may not.
func TestATermEndsWithTheSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Shared: state.NewMemory(0)}
		defer store.Close()
		g, other := started(t, store, slog.New(slog.DiscardHandler)), started(t, store.Shared, slog.New(slog.DiscardHandler))
		time.Sleep(time.Minute)
		first := g.Term()
		store.broken.Store(true)
		time.Sleep(5 * time.Second)
		store.broken.Store(false)
		time.Sleep(5 * time.Second)
		if first == 0 || g.Term() != first {
			t.Errorf("term %d, and %d after a short break", first, g.Term())
		}
		store.broken.Store(true)
		for range 400 {
			lives, err := other.Lives(t.Context(), g.ID())
			if err != nil || !lives && g.Term() != 0 {
				t.Fatalf("term %d of a replica that others do not know: %v", g.Term(), err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if lives, _ := other.Lives(t.Context(), g.ID()); lives || g.Term() != 0 {
			t.Errorf("it lives: %t, in term %d", lives, g.Term())
		}
		store.broken.Store(false)
		time.Sleep(2 * time.Second)
		if !g.Returned() || g.Term() != first+1 || g.Count() != 2 {
			t.Errorf("afterwards in term %d of %d replicas", g.Term(), g.Count())
		}
		time.Sleep(beatPause)
		if g.Returned() {
			t.Error("it returned long ago")
		}
	})
}

// A mute store takes no value while it is broken.
type mute struct{ *faulty }

func (m mute) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if err := m.fault(ctx); err != nil {
		return "", err
	}
	return m.Shared.Put(ctx, key, value, w)
}

// A replica runs until its Run returns, or until some seconds after it stops giving signs of life.
func TestARunningReplicaIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		cut := mute{&faulty{Shared: store}}
		here := started(t, store, slog.New(slog.DiscardHandler))
		leaves, dies := New(store, slog.New(slog.DiscardHandler)), started(t, cut, slog.New(slog.DiscardHandler))
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() { defer close(left); leaves.Run(ctx) }()
		want := func(when string, g *Group, want bool) {
			t.Helper()
			if runs, err := here.Lives(t.Context(), g.ID()); err != nil || runs != want {
				t.Errorf("%s: %t, %v", when, runs, err)
			}
		}
		time.Sleep(20 * time.Second)
		for _, g := range []*Group{here, leaves, dies} {
			want("all run", g, true)
		}
		leave()
		<-left
		want("it left", leaves, false)
		if _, err := dies.Append(t.Context(), "log", []byte("a"), state.Write{}); err != nil {
			t.Error(err)
		}
		cut.broken.Store(true)
		time.Sleep(beatTime - beatPause - time.Second)
		want("it has just died", dies, true)
		want("this one", here, true)
		time.Sleep(beatPause + time.Second)
		if records, err := here.Read(t.Context(), "log", 0, 9); err != nil || len(records) != 1 {
			t.Errorf("%d records, %v", len(records), err)
		}
		if err := here.Trim(t.Context(), "log", state.Keep{Count: -1}, state.Hold{}); err != nil {
			t.Error(err)
		}
		if _, err := dies.Append(t.Context(), "log", []byte("a"), state.Write{}); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("a replica whose store is away: %v", err)
		}
		want("it died", dies, false)
	})
}
