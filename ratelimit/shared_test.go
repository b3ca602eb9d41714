package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// A counted store counts the operations on limits, and is away for a while.
type counted struct {
	state.Shared
	ops   atomic.Int64
	away  atomic.Bool
	ahead time.Duration // of the clock of the store
}

func (c *counted) Now(context.Context) (time.Time, error) { return time.Now().Add(c.ahead), nil }

func (c *counted) Get(ctx context.Context, key string) (state.Entry, error) {
	c.ops.Add(1)
	return c.Shared.Get(ctx, key)
}

func (c *counted) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if c.away.Load() {
		return nil, state.ErrUnavailable
	}
	return c.Shared.List(ctx, prefix, after, limit)
}

// limitedReplicas are the replicas of a Handler with a limit.
type limitedReplicas struct {
	*testing.T
	store  *counted
	all    []mcp.Handler
	shares []*Shares
}

// newLimited returns three replicas.
func newLimited(t *testing.T, o Options, around mcp.Handler) *limitedReplicas {
	return newLimitedAt(t, 3, &counted{Shared: state.NewMemory(0)}, directly, o, around)
}

// directly is how a replica reaches the store.
func directly(c *counted) state.Shared { return c }

// newLimitedAt returns n replicas that reach the store as at returns it.
func newLimitedAt(t *testing.T, n int, store *counted, at func(*counted) state.Shared, o Options, around mcp.Handler) *limitedReplicas {
	l := &limitedReplicas{T: t, store: store}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait(); l.store.Close() })
	for range n {
		g := replicas.New(at(l.store), slog.New(slog.DiscardHandler))
		s := NewShares(g)
		running.Go(func() { g.Run(ctx) })
		running.Go(func() { s.Run(ctx) })
		o.Shares, o.Name = s, "a limit"
		l.all, l.shares = append(l.all, New(o).Around(around)), append(l.shares, s)
	}
	time.Sleep(2 * time.Second) // they know each other
	return l
}

// call calls a tool at a replica, and reports whether the limit allowed it.
func (l *limitedReplicas) call(at int, user string) bool {
	l.Helper()
	req := mcp.NewRequest("tools/call", []byte(`{"name":"t"}`))
	req.Principal = &mcp.Principal{Issuer: "i", Subject: user}
	r, err := l.all[at].Handle(l.Context(), req)
	if err != nil {
		l.Fatal(err)
	}
	result, is := r.Value.(*mcp.CallToolResult)
	return !is || !result.IsError
}

func done(size int) mcp.Handler {
	return mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: []byte(fmt.Sprintf("%*q", size, "a"))}, nil
	})
}

// Replicas allow as many calls as one, however the calls are divided among them, and whatever time
// passes between them.
func TestReplicasAllowAsManyCallsAsOne(t *testing.T) {
	for name, test := range map[string]struct {
		at    func(i int) int
		pause time.Duration
		calls int
	}{
		"by turns":             {func(i int) int { return i % 3 }, 0, 140},
		"by turns, slowly":     {func(i int) int { return i % 3 }, 50 * time.Millisecond, 1400},
		"one":                  {func(int) int { return 1 }, 0, 140},
		"one, then another":    {func(i int) int { return i / 100 }, time.Millisecond, 300},
		"mostly one, slowly":   {func(i int) int { return i % 10 / 9 }, 20 * time.Millisecond, 3000},
		"one a second, longer": {func(i int) int { return i % 3 }, time.Second, 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimited(t, Options{Calls: 60, In: time.Minute, Key: Caller}, done(1))
				began, allowed := time.Now(), 0
				for i := range test.calls {
					if l.call(test.at(i), "ann") {
						allowed++
					}
					time.Sleep(test.pause)
				}
				most := min(60+int(time.Since(began).Seconds()), test.calls)
				if allowed < most-6 || allowed > most+6 {
					t.Errorf("%d calls were allowed in %v, expected %d ± 6", allowed, time.Since(began), most)
				}
				if !l.call(0, "ben") {
					t.Error("another user is limited")
				}
				time.Sleep(5 * time.Second)
				ops := l.store.ops.Load()
				time.Sleep(time.Minute)
				if n := l.store.ops.Load() - ops; n > 0 {
					t.Errorf("%d operations while nothing calls", n)
				}
			})
		})
	}
}

// Replicas limit calls also if a count in the store is not valid, or that of a replica whose clock is
// ahead.
func TestReplicasReplaceWrongCounts(t *testing.T) {
	for name, stored := range map[string]func() string{
		"a clock that is ahead": func() string {
			return fmt.Sprintf(`{"level":0,"at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
		},
		"a level that is wrong": func() string { return fmt.Sprintf(`{"level":-1e300,"at":%q}`, time.Now().Format(time.RFC3339)) },
		"no count":              func() string { return "?" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimited(t, Options{Calls: 60, In: time.Minute, Key: Caller}, done(1))
				l.call(0, "ann")
				time.Sleep(5 * time.Second)
				all, err := l.store.Shared.List(t.Context(), "ratelimit/", "", 10)
				if err != nil || len(all) != 1 {
					t.Fatalf("%d counts: %v", len(all), err)
				}
				if _, err := l.store.Put(t.Context(), all[0].Key, []byte(stored()), state.Write{}); err != nil {
					t.Fatal(err)
				}
				allowed := 0
				for i := range 300 {
					if l.call(i%3, "ann") {
						allowed++
					}
					time.Sleep(2 * time.Second)
				}
				if allowed < 200 {
					t.Errorf("%d of 300 calls in 10 minutes were allowed", allowed)
				}
			})
		})
	}
}

// Counts have the time of the store's clock, whatever the clocks of the replicas are.
func TestCountsHaveTheTimeOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Shared: state.NewMemory(0), ahead: -7 * time.Minute}
		l := newLimitedAt(t, 3, store, directly, Options{Calls: 60, In: time.Minute, Key: Caller}, done(1))
		for i := range 90 {
			l.call(i%3, "ann")
		}
		time.Sleep(syncPause)
		all, err := store.Shared.List(t.Context(), "ratelimit/", "", 10)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d counts: %v", len(all), err)
		}
		var stored storedCount
		if err := json.Unmarshal(all[0].Value, &stored); err != nil || time.Since(stored.At)-7*time.Minute > time.Second || time.Since(stored.At) < 7*time.Minute {
			t.Errorf("the count is of %v ago: %v", time.Since(stored.At), err)
		}
	})
}

// Calls of a user within the limit need few operations on the store.
func TestCallsNeedNoOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, Options{Calls: 6000, In: time.Minute, Key: Caller}, done(1))
		l.store.ops.Store(0)
		for i := range 10_000 {
			if !l.call(i%3, "ann") {
				t.Fatal("a call within the limit is refused")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := l.store.ops.Load(); n > 1000 {
			t.Errorf("10,000 calls took %d operations", n)
		}
	})
}

// While the store is away, each replica allows a third of the limit.
func TestReplicasLimitAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, Options{Calls: 60, In: time.Hour, Key: Caller}, done(1))
		l.store.away.Store(true)
		time.Sleep(5 * time.Second)
		allowed := 0
		for i := range 300 {
			if l.call(i%3, "ann") {
				allowed++
			}
		}
		if allowed != 60 {
			t.Errorf("%d calls were allowed", allowed)
		}
		if n := l.shares[0].Alone(); n != 100 {
			t.Errorf("%d requests were counted alone", n)
		}
	})
}

// Bytes of results count at all replicas, too.
func TestReplicasCountBytesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, Options{Bytes: 10_000, BytesIn: time.Hour, Key: Caller}, done(1000))
		allowed := 0
		for i := range 60 {
			if l.call(i%3, "ann") {
				allowed++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if allowed < 10 || allowed > 14 {
			t.Errorf("%d results of a tenth of the limit were allowed", allowed)
		}
	})
}

// All replicas together run as many calls at the same time as the limit allows.
func TestReplicasRunTheirPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		l := newLimited(t, Options{Concurrent: 6, Key: Caller}, mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return mcp.Result{}, nil
		}))
		var calls sync.WaitGroup
		for i := range 30 {
			calls.Go(func() { l.call(i%3, "ann") })
		}
		calls.Wait()
		if most.Load() != 6 {
			t.Errorf("%d calls ran at the same time", most.Load())
		}
	})
}

// A distant store needs some time for each operation.
type distant struct{ *counted }

func (d distant) Get(ctx context.Context, key string) (state.Entry, error) {
	time.Sleep(time.Millisecond)
	return d.counted.Get(ctx, key)
}

func (d distant) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	time.Sleep(time.Millisecond)
	return d.counted.CompareAndSwap(ctx, key, old, value, w)
}

// Many replicas that count at the same time do not keep each other from it.
func TestReplicasThatCollideNeedFewOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const replicas, rounds = 32, 10
		l := newLimitedAt(t, replicas, &counted{Shared: state.NewMemory(0)}, func(c *counted) state.Shared { return distant{c} }, Options{Calls: 600, In: time.Minute, Key: Caller}, done(1))
		l.store.ops.Store(0)
		for range rounds {
			var calls sync.WaitGroup
			for at := range replicas {
				calls.Go(func() { l.call(at, "ann") })
			}
			calls.Wait()
			time.Sleep(3 * time.Second)
		}
		if n := float64(l.store.ops.Load()) / replicas / rounds; n > 8 {
			t.Errorf("each replica read the count %.1f times for a call", n)
		} else {
			t.Logf("each replica read the count %.1f times for a call", n)
		}
	})
}

// A replica that has used its part has nothing to give back.
func TestAUsedPartIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, Options{Calls: 3, In: time.Minute, Key: Caller}, done(1))
		l.store.ops.Store(0)
		for at := range 3 {
			if !l.call(at, "ann") {
				t.Errorf("the call at replica %d is refused", at)
			}
		}
		time.Sleep(10 * time.Second)
		if n := l.store.ops.Load(); n != 3 {
			t.Errorf("the count was read %d times for three calls", n)
		}
		if l.call(0, "ann") {
			t.Error("a fourth call in 10 seconds is allowed")
		}
	})
}
