package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// A line is the way of one replica to the store. It takes time, and can be cut.
type line struct {
	state.Shared
	takes time.Duration
	isCut atomic.Bool
	ops   *atomic.Int64
}

func (l *line) pass(ctx context.Context) error {
	l.ops.Add(1)
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.isCut.Load() {
		return state.ErrUnavailable
	}
	return nil
}

func (l *line) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := l.pass(ctx); err != nil {
		return state.Entry{}, err
	}
	return l.Shared.Get(ctx, key)
}

func (l *line) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if l.isCut.Load() {
		return "", state.ErrUnavailable
	}
	return l.Shared.Put(ctx, key, value, w)
}

func (l *line) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if l.isCut.Load() {
		return nil, state.ErrUnavailable
	}
	return l.Shared.List(ctx, prefix, after, limit)
}

func (l *line) Delete(ctx context.Context, key string, hold state.Hold) error {
	if l.isCut.Load() {
		return state.ErrUnavailable
	}
	return l.Shared.Delete(ctx, key, hold)
}

func (l *line) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if err := l.pass(ctx); err != nil {
		return "", err
	}
	return l.Shared.CompareAndSwap(ctx, key, old, value, w)
}

// A history has the calls that run at several replicas.
type history struct {
	*testing.T
	ops   atomic.Int64
	lines []*line
	all   []mcp.Handler
	ends  []context.CancelFunc // of the replicas

	mu            sync.Mutex
	running, most map[string]int // by user
	at            [3]int
}

// newHistory returns three replicas with a limit of concurrent calls for each user. A call takes the
// time that it names.
func newHistory(t *testing.T, concurrent int) *history {
	h := &history{T: t, running: map[string]int{}, most: map[string]int{}}
	store := state.NewMemory(0)
	var following sync.WaitGroup
	for i := range 3 {
		l := &line{Shared: store, takes: time.Duration(i+1) * time.Millisecond, ops: &h.ops}
		g := replicas.New(l, slog.New(slog.DiscardHandler))
		s := NewShares(g)
		ctx, cancel := context.WithCancel(t.Context())
		following.Go(func() { g.Run(ctx) })
		following.Go(func() { s.Run(ctx) })
		h.lines, h.ends = append(h.lines, l), append(h.ends, cancel)
		h.all = append(h.all, New(Options{Concurrent: concurrent, Key: Caller, Shares: s, Name: "a limit"}).Around(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			user := req.Principal.Subject
			h.mu.Lock()
			h.running[user]++
			h.at[i]++
			h.most[user] = max(h.most[user], h.running[user])
			h.mu.Unlock()
			takes, err := time.ParseDuration(req.Name)
			if err != nil {
				return mcp.Result{}, err
			}
			select {
			case <-time.After(takes):
			case <-ctx.Done():
			}
			h.mu.Lock()
			h.running[user]--
			h.mu.Unlock()
			return mcp.Result{}, nil
		})))
	}
	t.Cleanup(func() {
		for _, end := range h.ends {
			end()
		}
		following.Wait()
		store.Close()
	})
	time.Sleep(2 * time.Second) // they know each other
	return h
}

// call runs a call at a replica.
func (h *history) call(ctx context.Context, at int, user string, takes time.Duration) error {
	req := mcp.NewRequest("tools/call", []byte(fmt.Sprintf(`{"name":"%v"}`, takes)))
	req.Principal = &mcp.Principal{Issuer: "i", Subject: user}
	_, err := h.all[at].Handle(ctx, req)
	return err
}

// Never do more calls run than the limit allows, and never fewer for long, whatever their lengths, users
// and replicas, also if callers leave.
func TestReplicasRunAsManyCallsAsOne(t *testing.T) {
	for _, concurrent := range []int{1, 2, 5, 30} {
		t.Run(fmt.Sprint(concurrent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, concurrent)
				random := rand.New(rand.NewPCG(1, uint64(concurrent)))
				var calls sync.WaitGroup
				var done, left atomic.Int64
				began := time.Now()
				const count = 2000
				for range count {
					at, user := random.IntN(3), fmt.Sprint("user", random.IntN(2))
					takes := time.Duration(random.IntN(100)) * time.Millisecond
					stays := time.Hour
					if random.IntN(10) == 0 {
						stays = time.Duration(random.IntN(200)) * time.Millisecond
					}
					calls.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), stays)
						defer cancel()
						if err := h.call(ctx, at, user, takes); err == nil {
							done.Add(1)
						} else if errors.Is(err, context.DeadlineExceeded) {
							left.Add(1)
						} else {
							t.Error(err)
						}
					})
					time.Sleep(time.Duration(random.IntN(max(50_000/concurrent, 2))) * time.Microsecond)
				}
				calls.Wait()
				took := time.Since(began)
				for user, most := range h.most {
					if most > concurrent {
						t.Errorf("%d calls of %s ran at the same time", most, user)
					}
				}
				// 50 ms a call, half of them of each user; a limit of 1 also hands its place over.
				ideal := time.Duration(count) * 50 * time.Millisecond / 2 / time.Duration(concurrent)
				t.Logf("%d of %d calls in %v (%v at least), %d left, %d operations, %v by replica", done.Load(), count, took, ideal, left.Load(), h.ops.Load(), h.at)
				if took > 2*ideal+2*time.Second {
					t.Error("places were not used")
				}
				for at, n := range h.at {
					if n < count/10 {
						t.Errorf("replica %d ran %d calls", at, n)
					}
				}
				time.Sleep(time.Minute)
				ops := h.ops.Load()
				time.Sleep(time.Minute)
				if n := h.ops.Load() - ops; n > 0 {
					t.Errorf("%d operations while nothing calls", n)
				}
			})
		})
	}
}

// While the limit is far, calls wait for no operation on the store.
func TestPlacesAreBorrowedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, 100)
		for i := range 3 {
			if err := h.call(t.Context(), i, "ann", time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(300 * time.Millisecond)
		h.ops.Store(0)
		began := time.Now()
		for i := range 3000 {
			before := time.Now()
			if err := h.call(t.Context(), i%3, "ann", 10*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(before) - 10*time.Millisecond; waited > 0 {
				t.Fatalf("call %d waited %v", i, waited)
			}
		}
		if most := int64(3 * (time.Since(began)/syncPause + 10)); h.ops.Load() > most {
			t.Errorf("%d operations for 3000 calls, at most %d expected", h.ops.Load(), most)
		}
	})
}

// The places of a replica that died return when its sign of life ends, and not before.
func TestPlacesOfKilledReplicasReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, 4)
		var calls sync.WaitGroup
		ctx, die := context.WithCancel(t.Context())
		for range 4 {
			calls.Go(func() { _ = h.call(ctx, 0, "ann", time.Hour) })
		}
		time.Sleep(time.Second)
		h.lines[0].isCut.Store(true)
		h.ends[0]()
		died := time.Now()
		for i := range 4 {
			calls.Go(func() {
				if err := h.call(t.Context(), 1+i%2, "ann", time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		others := func() int {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.at[1] + h.at[2]
		}
		for others() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if passed := time.Since(died); passed < 9*time.Second || passed > 18*time.Second {
			t.Errorf("places return after %v", passed)
		}
		die()
		calls.Wait()
	})
}

// A replica that was cut off returns to the exact limit, and has its part until then.
func TestReplicasHaveTheirPartWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, 6)
		for _, l := range h.lines {
			l.isCut.Store(true)
		}
		time.Sleep(20 * time.Second)
		var calls sync.WaitGroup
		burst := func() {
			for i := range 30 {
				calls.Go(func() {
					if err := h.call(t.Context(), i%3, "ann", time.Second); err != nil {
						t.Error(err)
					}
				})
			}
		}
		burst()
		time.Sleep(2500 * time.Millisecond)
		for _, l := range h.lines {
			l.isCut.Store(false)
		}
		calls.Wait()
		if h.most["ann"] != 6 {
			t.Errorf("%d calls ran at the same time without the store, and afterwards", h.most["ann"])
		}
		if n := strings.Count(fmt.Sprint(h.at), "10"); n != 3 {
			t.Errorf("calls by replica: %v", h.at)
		}
	})
}
