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

// A cut store fails for one replica while it is away.
type cut struct {
	state.Shared
	away atomic.Bool
}

func (c *cut) fault() error {
	if c.away.Load() {
		return state.ErrUnavailable
	}
	return nil
}

func (c *cut) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := c.fault(); err != nil {
		return state.Entry{}, err
	}
	return c.Shared.Get(ctx, key)
}

func (c *cut) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if err := c.fault(); err != nil {
		return nil, err
	}
	return c.Shared.List(ctx, prefix, after, limit)
}

func (c *cut) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if err := c.fault(); err != nil {
		return "", err
	}
	return c.Shared.Put(ctx, key, value, w)
}

func (c *cut) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if err := c.fault(); err != nil {
		return "", err
	}
	return c.Shared.CompareAndSwap(ctx, key, old, value, w)
}

func (c *cut) Delete(ctx context.Context, key string, hold state.Hold) error {
	if err := c.fault(); err != nil {
		return err
	}
	return c.Shared.Delete(ctx, key, hold)
}

func (c *cut) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	if err := c.fault(); err != nil {
		return state.Hold{}, err
	}
	return c.Shared.Acquire(ctx, name, ttl)
}

func (c *cut) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	if err := c.fault(); err != nil {
		return err
	}
	return c.Shared.Renew(ctx, hold, ttl)
}

func (c *cut) Release(ctx context.Context, hold state.Hold) error {
	if err := c.fault(); err != nil {
		return err
	}
	return c.Shared.Release(ctx, hold)
}

// An owning is a replica with its Owners.
type owning struct {
	*Owners
	store *cut
	lines *bytes.Buffer
	end   func() // ends it in order
}

// replicated runs several replicas with one store.
func replicated(t *testing.T, n int) (store state.Shared, all []*owning) {
	store = state.NewMemory(0)
	t.Cleanup(func() { _ = store.Close() })
	for range n {
		o := &owning{store: &cut{Shared: store}, lines: new(bytes.Buffer)}
		log := slog.New(slog.NewTextHandler(o.lines, nil))
		g := New(o.store, log)
		o.Owners = NewOwners(g, log)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		running.Go(func() { o.Run(ctx) })
		o.end = func() { cancel(); running.Wait() }
		t.Cleanup(o.end)
		all = append(all, o)
	}
	time.Sleep(5 * time.Second)
	return store, all
}

// mustClaim claims a thing for a replica.
func (o *owning) mustClaim(t *testing.T, key string) Right {
	t.Helper()
	r, err := o.Claim(t.Context(), key, key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// isOf reports whether a claim failed because another replica has the thing.
func isOf(err error, o *owning) bool {
	e, is := errors.AsType[*ElsewhereError](err)
	return is && e.Replica == o.ID()
}

// All replicas find the same owner for each thing, and use each other about equally.
func TestReplicasAgreeOnOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := replicated(t, 3)
		of := map[string]string{}
		counts := map[string]int{}
		for i := range 300 {
			key := fmt.Sprint(i)
			for _, o := range all {
				replica, err := o.Find(t.Context(), key)
				if err != nil || of[key] != "" && of[key] != replica {
					t.Fatalf("%s: %s and %s, %v", key, of[key], replica, err)
				}
				of[key] = replica
			}
			counts[of[key]]++
		}
		for id, n := range counts {
			if n < 70 || n > 130 {
				t.Errorf("%s gets %d of 300", id, n)
			}
		}
		all[0].end()
		time.Sleep(5 * time.Second)
		for key, before := range of {
			replica, err := all[1].Find(t.Context(), key)
			if err != nil || replica == all[0].ID() || before != all[0].ID() && replica != before {
				t.Errorf("%s was of %s and is of %s, %v", key, before, replica, err)
			}
		}
	})
}

// A thing belongs to one replica, however many claim it at the same time, and to another one once
// all rights were given back.
func TestOneReplicaOwnsAThing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all := replicated(t, 3)
		for i := range 50 {
			key := fmt.Sprint(i)
			var mu sync.Mutex
			var claiming sync.WaitGroup
			rights := map[*owning][]Right{}
			for _, o := range all {
				for range 4 {
					claiming.Go(func() {
						r, err := o.Claim(t.Context(), key, key)
						mu.Lock()
						defer mu.Unlock()
						if _, elsewhere := errors.AsType[*ElsewhereError](err); err == nil {
							rights[o] = append(rights[o], r)
						} else if !elsewhere {
							t.Error(err)
						}
					})
				}
			}
			claiming.Wait()
			if len(rights) != 1 {
				t.Fatalf("%d replicas own it", len(rights))
			}
			for o, have := range rights {
				if len(have) != 4 {
					t.Errorf("its replica has %d rights", len(have))
				}
				for j, r := range have {
					other := all[0]
					if other == o {
						other = all[1]
					}
					if _, err := other.Claim(t.Context(), key, key); !isOf(err, o) {
						t.Errorf("with %d rights left: %v", len(have)-j, err)
					}
					if found, err := other.Find(t.Context(), key); found != o.ID() || err != nil {
						t.Errorf("found %s, %v", found, err)
					}
					r.Release()
					r.Release() // the second time has no effect
				}
			}
		}
		if left, err := store.List(t.Context(), ownersPrefix, "", 100); len(left) > 0 || err != nil {
			t.Errorf("%d records are left, %v", len(left), err)
		}
		for _, o := range all {
			if len(o.held) != 0 || o.rights != 0 {
				t.Errorf("a replica keeps %d things and %d rights", len(o.held), o.rights)
			}
		}
	})
}

// A replica that cannot reach the store loses its rights before another one gets them.
func TestARightEndsBeforeTheNextBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := replicated(t, 2)
		here, there := all[0], all[1]
		r := here.mustClaim(t, "k")
		time.Sleep(time.Minute)
		if _, err := there.Claim(t.Context(), "k", "k"); !isOf(err, here) {
			t.Fatalf("after a minute: %v", err)
		}
		here.store.away.Store(true)
		began := time.Now()
		var lost atomic.Int64
		defer context.AfterFunc(r.Context, func() { lost.Store(int64(time.Since(began))) })()
		moved := time.Duration(0)
		for moved == 0 && time.Since(began) < time.Minute {
			next, err := there.Claim(t.Context(), "k", `an instance of server "s"`)
			if err == nil {
				moved = time.Since(began)
				defer next.Release()
			}
			time.Sleep(100 * time.Millisecond)
		}
		switch ended := time.Duration(lost.Load()); {
		case ended == 0 || ended > OwnerTime-ownerMargin:
			t.Errorf("the right ended after %v", ended)
		case !errors.Is(context.Cause(r.Context), ErrOwnerLost):
			t.Error(context.Cause(r.Context))
		case moved < ended+ownerMargin-time.Millisecond || moved > OwnerTime+time.Second:
			t.Errorf("it moved after %v, and ended after %v", moved, ended)
		}
		if _, err := here.Claim(t.Context(), "k", "k"); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("a claim while the store is away: %v", err)
		}
		here.store.away.Store(false)
		time.Sleep(10 * time.Second)
		if _, err := here.Claim(t.Context(), "k2", "k2"); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("a claim while something of the earlier term runs: %v", err)
		}
		r.Release()
		time.Sleep(5 * time.Second)
		if _, err := here.Claim(t.Context(), "k", "k"); !isOf(err, there) {
			t.Errorf("a claim afterwards: %v", err)
		}
		here.mustClaim(t, "k2").Release()
		synctest.Wait()
		if n := strings.Count(there.lines.String(), `an instance of server \"s\" moves to this replica`); n != 1 {
			t.Errorf("said %d times: %s", n, there.lines)
		}
		if n := strings.Count(here.lines.String(), "could not renew its lease"); n != 1 {
			t.Errorf("said %d times: %s", n, here.lines)
		}
	})
}

// A replica whose lease is over writes nothing any more, although it does not know.
func TestAReplicaThatSleptIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all := replicated(t, 2)
		here, there := all[0], all[1]
		r := here.mustClaim(t, "k")
		here.mu.Lock()
		hold := here.term.hold
		here.mu.Unlock()
		here.store.away.Store(true)
		time.Sleep(OwnerTime + time.Second)
		there.mustClaim(t, "k")
		for name, err := range map[string]error{
			"renew":  store.Renew(t.Context(), hold, OwnerTime),
			"delete": store.Delete(t.Context(), ownersPrefix+"k", hold),
		} {
			if !errors.Is(err, state.ErrLost) {
				t.Errorf("%s: %v", name, err)
			}
		}
		here.store.away.Store(false)
		time.Sleep(5 * time.Second)
		r.Release()
		if replica, err := here.Find(t.Context(), "k"); replica != there.ID() || err != nil {
			t.Errorf("found %s, %v", replica, err)
		}
	})
}

// A replica that leaves keeps what is used until it is given back, and claims nothing.
func TestAReplicaThatLeavesGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := replicated(t, 2)
		here, there := all[0], all[1]
		r := here.mustClaim(t, "k")
		here.Leave()
		select {
		case <-r.Leaves:
		default:
			t.Error("the holder does not know")
		}
		if r.Context.Err() != nil {
			t.Error("the right has ended")
		}
		if _, err := here.Claim(t.Context(), "k", "k"); !errors.Is(err, ErrLeaves) {
			t.Errorf("a claim: %v", err)
		}
		if _, err := there.Claim(t.Context(), "k", "k"); !isOf(err, here) {
			t.Errorf("while it is used: %v", err)
		}
		for i := range 20 {
			if replica, err := here.Find(t.Context(), fmt.Sprint(i)); replica != there.ID() || err != nil {
				t.Errorf("found %s, %v", replica, err)
			}
		}
		r.Release()
		there.mustClaim(t, "k")
		here.end()
		if runs, err := there.runs(t.Context(), here.ID()); runs || err != nil {
			t.Errorf("it still has its lease: %t, %v", runs, err)
		}
	})
}

// The record of a thing that is owned for long does not expire.
func TestRecordsLastAsLongAsTheirOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := replicated(t, 2)
		r := all[0].mustClaim(t, "k")
		defer r.Release()
		time.Sleep(2 * recordTime)
		if _, err := all[1].Claim(t.Context(), "k", "k"); !isOf(err, all[0]) {
			t.Error(err)
		}
	})
}

// Nothing new is given to a replica that could not be reached, for a while.
func TestAReplicaIsAvoided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const avoidTime = 10 * time.Second
		_, all := replicated(t, 2)
		key := ""
		for i := 0; key == ""; i++ {
			if replica, _ := all[0].Find(t.Context(), fmt.Sprint(i)); replica == all[1].ID() {
				key = fmt.Sprint(i)
			}
		}
		for _, want := range []struct {
			after time.Duration
			of    *owning
		}{{0, all[0]}, {avoidTime - time.Second, all[0]}, {2 * time.Second, all[1]}} {
			if want.after == 0 {
				all[0].Forget(key, all[1].ID(), avoidTime)
			}
			time.Sleep(want.after)
			if replica, err := all[0].Find(t.Context(), key); replica != want.of.ID() || err != nil {
				t.Errorf("after %v: %s, %v", want.after, replica, err)
			}
			if all[0].Avoids(all[1].ID()) != (want.of == all[0]) {
				t.Errorf("after %v: it is avoided: %t", want.after, want.of != all[0])
			}
		}
	})
}
