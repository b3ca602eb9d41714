package approvals

import (
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

	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// A line is the way of a replica to the store. It can be cut, and loses all hints.
type line struct {
	state.Shared
	isCut  atomic.Bool
	isSlow atomic.Bool // whether a CompareAndSwap takes a second
}

func (l *line) fault() error {
	if l.isCut.Load() {
		return state.ErrUnavailable
	}
	return nil
}

func (l *line) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := l.fault(); err != nil {
		return state.Entry{}, err
	}
	return l.Shared.Get(ctx, key)
}

func (l *line) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if err := l.fault(); err != nil {
		return "", err
	}
	return l.Shared.Put(ctx, key, value, w)
}

func (l *line) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if err := l.fault(); err != nil {
		return "", err
	}
	if l.isSlow.Load() {
		time.Sleep(time.Second)
	}
	return l.Shared.CompareAndSwap(ctx, key, old, value, w)
}

func (l *line) Delete(ctx context.Context, key string, hold state.Hold) error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.Shared.Delete(ctx, key, hold)
}

func (l *line) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if err := l.fault(); err != nil {
		return nil, err
	}
	return l.Shared.List(ctx, prefix, after, limit)
}

func (l *line) Publish(context.Context, string) error { return nil }

// sites are three replicas.
type sites struct {
	*testing.T
	store *state.Memory
	lines []*line
	all   []*site
	ends  []context.CancelFunc
}

// heardWithin is the time in which a replica notices a decision of another one.
const heardWithin = 2 * time.Second

func newSites(t *testing.T, all ...policy.Rule) *sites {
	s := &sites{T: t, store: state.NewMemory(0)}
	var running sync.WaitGroup
	for range 3 {
		l := &line{Shared: s.store}
		g := replicas.New(l, slog.New(slog.DiscardHandler))
		one := newSiteWith(t, New(Options{Replicas: g, Secret: []byte("of all")}), all...)
		ctx, end := context.WithCancel(t.Context())
		running.Go(func() { g.Run(ctx) })
		s.lines, s.all, s.ends = append(s.lines, l), append(s.all, one), append(s.ends, end)
	}
	t.Cleanup(func() {
		for _, end := range s.ends {
			end()
		}
		running.Wait()
	})
	time.Sleep(5 * time.Second)
	return s
}

// waits returns the one call that waits for bob, which all replicas list.
func (s *sites) waits() Call {
	s.Helper()
	q := s.all[0].only(s.T, bob)
	for _, one := range s.all[1:] {
		if other := one.only(s.T, bob); other.ID != q.ID || other.Arguments != q.Arguments || len(other.Parts) != len(q.Parts) {
			s.Errorf("listed as %+v and %+v", q, other)
		}
	}
	return q
}

// none fails the test if a replica lists a call.
func (s *sites) none(what string) {
	s.Helper()
	for i, one := range s.all {
		if all := one.desk.List(s.Context(), operator); len(all) != 0 {
			s.Errorf("%s: replica %d lists %+v", what, i, all)
		}
	}
}

// An approval or refusal at one replica lets the call at another one go on within two seconds, without
// any hint. The store has no secret of the call.
func TestAnyReplicaDecides(t *testing.T) {
	for _, approve := range []bool{true, false} {
		t.Run(fmt.Sprint(approve), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSites(t, ask)
				for at := range 3 {
					outcome := s.all[0].begin(t, t.Context(), "ann", "a")
					q := s.waits()
					if q.Arguments != `{"Path":"a","Password":"***"}` {
						t.Errorf("arguments %s", q.Arguments)
					}
					entries, err := s.store.List(t.Context(), "", "", 1000)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range entries {
						if strings.Contains(string(e.Value), "hunter2") {
							t.Errorf("%s: %s", e.Key, e.Value)
						}
					}
					for _, other := range []Approver{dba, ann, {Name: "none"}} {
						if _, err := s.all[at].desk.Decide(t.Context(), q.ID, other, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
							t.Errorf("%s answers: %v", other.Name, err)
						}
					}
					began := time.Now()
					if _, err := s.all[at].desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: approve, Reason: "not today"}); err != nil {
						t.Fatal(err)
					}
					err = <-outcome
					if (err == nil) != approve || !approve && !strings.Contains(err.Error(), "refused it: not today") || time.Since(began) > heardWithin {
						t.Errorf("%v after %v", err, time.Since(began))
					}
					if _, err := s.all[(at+1)%3].desk.Decide(t.Context(), q.ID, eve, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
						t.Errorf("the second answer: %v", err)
					}
					s.none("after the answer")
				}
				if n := s.all[0].notes[0]; n.By != "bob" || n.Role != "sre" {
					t.Errorf("noted %+v", n)
				}
			})
		})
	}
}

// Of answers at all replicas at the same time exactly one counts, and each role must approve.
func TestOneAnswerOfAllReplicasCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSites(t, ask, policy.Rule{Effect: policy.Ask, Of: "role:dba"})
		for range 50 {
			outcome := s.all[1].begin(t, t.Context(), "ann", "a")
			id := s.waits().ID
			if _, err := s.all[2].desk.Decide(t.Context(), id, dba, Verdict{Approve: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.all[0].desk.Decide(t.Context(), id, dba, Verdict{}); !errors.Is(err, ErrDecided) {
				t.Errorf("the second answer for a role: %v", err)
			}
			var counted atomic.Int32
			var refused atomic.Bool
			var answering sync.WaitGroup
			for i := range 9 {
				answering.Go(func() {
					if _, err := s.all[i%3].desk.Decide(t.Context(), id, bob, Verdict{Approve: i%2 == 0}); err == nil {
						counted.Add(1)
						refused.Store(i%2 == 1)
					}
				})
			}
			answering.Wait()
			if err := <-outcome; counted.Load() != 1 || (err != nil) != refused.Load() {
				t.Fatalf("%d answers counted: %v", counted.Load(), err)
			}
		}
	})
}

// A call is listed nowhere any more after its caller left, its time is over, or its replica died.
func TestSharedCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ask
		rule.Within = "20s"
		s := newSites(t, rule)
		ctx, leave := context.WithCancel(t.Context())
		outcome := s.all[0].begin(t, ctx, "ann", "a")
		id := s.waits().ID
		leave()
		<-outcome
		s.none("its caller left")
		if _, err := s.all[1].desk.Decide(t.Context(), id, bob, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
			t.Errorf("an answer after the caller left: %v", err)
		}
		began := time.Now()
		if err := <-s.all[0].begin(t, t.Context(), "ann", "a"); err == nil || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		s.none("its time is over")

		rule.Within = "1h"
		s.all[0].set(t, rule)
		ctx, leave = context.WithCancel(t.Context())
		outcome = s.all[0].begin(t, ctx, "ann", "a")
		id = s.waits().ID
		s.lines[0].isCut.Store(true)
		s.ends[0]()
		time.Sleep(16 * time.Second)
		for _, at := range []int{1, 2} {
			if _, err := s.all[at].desk.Decide(t.Context(), id, bob, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
				t.Errorf("its replica died: %v", err)
			}
			if all := s.all[at].desk.List(t.Context(), bob); len(all) != 0 {
				t.Errorf("its replica died: %+v", all)
			}
		}
		leave()
		<-outcome
		time.Sleep(2 * time.Hour)
		if all, err := s.store.List(t.Context(), "approvals/", "", 10); len(all) > 0 || err != nil {
			t.Errorf("the store has %+v, %v", all, err)
		}
	})
}

// A caller has 50 waiting calls at all replicas together.
func TestSharedCallsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSites(t, ask)
		ctx, leave := context.WithCancel(t.Context())
		var all []chan error
		for i := range maxWaitingOfOne {
			all = append(all, s.all[i%3].begin(t, ctx, "ann", fmt.Sprint(i)))
		}
		for i, one := range s.all {
			if _, err := one.call(ctx, "ann", "more"); err == nil || !strings.Contains(err.Error(), "too many calls wait") {
				t.Errorf("one more at replica %d: %v", i, err)
			}
		}
		other := s.all[2].begin(t, ctx, "cid", "a")
		if n := len(s.all[0].desk.List(t.Context(), bob)); n != maxWaitingOfOne+1 {
			t.Errorf("%d calls are listed", n)
		}
		leave()
		for _, one := range append(all, other) {
			<-one
		}
		s.none("all left")
		for _, one := range s.all {
			if one.desk.places.Used() != 0 || len(one.desk.waiting) != 0 {
				t.Error("places are left")
			}
		}
	})
}

// An approval of equal calls holds at every replica, for its time.
func TestGrantsHoldAtAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ask
		rule.For = "10m"
		s := newSites(t, rule)
		first := s.all[0].begin(t, t.Context(), "ann", "a")
		if _, err := s.all[1].desk.Decide(t.Context(), s.waits().ID, bob, Verdict{Approve: true, For: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		for i, one := range s.all {
			if _, err := one.call(t.Context(), "ann", "a"); err != nil {
				t.Errorf("an equal call at replica %d: %v", i, err)
			}
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if last := s.all[2].notes[0]; last.By != "bob" || last.Role != "sre" {
			t.Errorf("noted %+v", last)
		}
		for what, begin := range map[string]func() chan error{
			"other arguments": func() chan error { return s.all[2].begin(t, t.Context(), "ann", "b") },
			"another caller":  func() chan error { return s.all[2].begin(t, t.Context(), "cid", "a") },
		} {
			waiting := begin()
			if _, err := s.all[0].desk.Decide(t.Context(), s.waits().ID, bob, Verdict{}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if err := <-waiting; err == nil {
				t.Errorf("%s: it ran", what)
			}
		}
		time.Sleep(5 * time.Minute)
		waiting := s.all[2].begin(t, t.Context(), "ann", "a")
		if _, err := s.all[0].desk.Decide(t.Context(), s.waits().ID, bob, Verdict{}); err != nil {
			t.Errorf("after the time: %v", err)
		}
		<-waiting
	})
}

// While the store is away, calls that all know can be decided by none, and new ones wait at their
// replica. A replica that was only cut off still has its calls afterwards.
func TestApprovalsWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSites(t, ask)
		before := s.all[0].begin(t, t.Context(), "ann", "before")
		id := s.waits().ID
		s.lines[0].isCut.Store(true)
		time.Sleep(20 * time.Second)
		if all := s.all[1].desk.List(t.Context(), bob); len(all) != 0 {
			t.Errorf("calls of a replica that may have died: %+v", all)
		}
		if _, err := s.all[0].desk.Decide(t.Context(), id, bob, Verdict{Approve: true}); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("a decision without the store: %v", err)
		}
		alone := s.all[0].begin(t, t.Context(), "cid", "alone")
		all := s.all[0].desk.List(t.Context(), bob)
		if len(all) != 2 {
			t.Fatalf("%d calls are listed", len(all))
		}
		if _, err := s.all[0].desk.Decide(t.Context(), all[1].ID, bob, Verdict{Approve: true}); err != nil {
			t.Error(err)
		}
		if err := <-alone; err != nil {
			t.Error(err)
		}
		s.lines[0].isCut.Store(false)
		time.Sleep(heardWithin)
		if got := s.waits().ID; got != id {
			t.Errorf("the call %s waits", got)
		}
		if _, err := s.all[2].desk.Decide(t.Context(), id, bob, Verdict{Approve: true}); err != nil {
			t.Error(err)
		}
		if err := <-before; err != nil {
			t.Error(err)
		}
	})
}

// A call that is still being written to the store is not decided at its replica alone.
func TestNothingIsDecidedBeforeAllKnowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSites(t, ask)
		s.lines[0].isSlow.Store(true)
		outcome := s.all[0].begin(t, t.Context(), "ann", "a")
		q := s.all[0].only(t, bob)
		if _, err := s.all[0].desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
			t.Errorf("decided: %v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait() // it is written
		if _, err := s.all[1].desk.Decide(t.Context(), s.waits().ID, bob, Verdict{Approve: true}); err != nil {
			t.Error(err)
		}
		if err := <-outcome; err != nil {
			t.Error(err)
		}
		s.none("after the answer")
	})
}
