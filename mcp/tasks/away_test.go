package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// An awayStore is a store that one process cannot reach for some time.
type awayStore struct {
	state.Store
	away   atomic.Bool
	forget atomic.Bool // the next changes are confirmed and lost, as by a failover
}

func (s *awayStore) fault() error {
	if s.away.Load() {
		return fmt.Errorf("the test: %w", state.ErrUnavailable)
	}
	return nil
}

func (s *awayStore) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := s.fault(); err != nil {
		return state.Entry{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s *awayStore) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if err := s.fault(); err != nil {
		return "", err
	}
	return s.Store.Put(ctx, key, value, w)
}

func (s *awayStore) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if err := s.fault(); err != nil {
		return "", err
	}
	if s.forget.Load() {
		return old, nil
	}
	return s.Store.CompareAndSwap(ctx, key, old, value, w)
}

func (s *awayStore) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	if err := s.fault(); err != nil {
		return state.Hold{}, err
	}
	return s.Store.Acquire(ctx, name, ttl)
}

func (s *awayStore) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, hold, ttl)
}

// A task that ends while its store is away has its result once the store is back.
func TestATaskThatEndsWithoutItsStoreKeepsItsResult(t *testing.T) {
	for name, away := range map[string]time.Duration{"briefly": 2 * time.Second, "for minutes": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer("s", "1")
				end := make(chan struct{})
				mcp.AddTool(s, "dig", func(context.Context, struct{}) (string, error) { <-end; return "gold", nil })
				store := &awayStore{Store: state.NewMemory(0)}
				var log strings.Builder // its handler writes one line at a time
				all, err := tasks.New(tasks.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Tools: map[string]tasks.Tool{"dig": {}}, Store: store})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					all.Close()
					if n := strings.Count(log.String(), "other processes"); n > 1 {
						t.Errorf("the log has %d lines about one absence of the store:\n%s", n, &log)
					}
				}()
				_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(all.Middleware()(s), mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "dig", nil)
				if err != nil || task == nil {
					t.Fatal(task, err)
				}
				store.away.Store(true)
				close(end)
				time.Sleep(away)
				if all.Running() != 1 {
					t.Errorf("%d tasks run until their end is stored, want 1", all.Running())
				}
				store.away.Store(false)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if result, err := task.Wait(ctx); err != nil || result.Text() != "gold" {
					t.Errorf("got %+v, %v", result, err)
				}
			})
		})
	}
}

// A process that ends does not wait for a store that is away.
func TestCloseDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("s", "1")
		end := make(chan struct{})
		mcp.AddTool(s, "dig", func(context.Context, struct{}) (string, error) { <-end; return "gold", nil })
		store := &awayStore{Store: state.NewMemory(0)}
		all, err := tasks.New(tasks.Options{Logger: slog.New(slog.DiscardHandler), Tools: map[string]tasks.Tool{"dig": {}}, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := tasks.Start(t.Context(), mcp.NewClientWith(all.Middleware()(s), mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "dig", nil); err != nil {
			t.Fatal(err)
		}
		store.away.Store(true)
		close(end)
		time.Sleep(5 * time.Second)
		began := time.Now()
		if all.Close(); time.Since(began) > 5*time.Second {
			t.Errorf("Close waited for %v", time.Since(began))
		}
	})
}

// A process that cannot reach its store for longer than its lease loses its tasks to another process.
// Of the two only that one gets the result.
func TestATaskThatAnotherProcessContinuesEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := state.NewMemory(0)
		work := make(chan struct{})
		s := mcp.NewServer("s", "1")
		mcp.AddTool(s, "dig", func(context.Context, struct{}) (string, error) { <-work; return "gold", nil })
		behind, err := tasks.New(tasks.Options{Logger: slog.New(slog.DiscardHandler), Tools: map[string]tasks.Tool{"dig": {}}, Poll: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer behind.Close()
		server := behind.Middleware()(s)
		results := map[string]int{}
		front := func(name string, store state.Store) (*tasks.Tasks, *mcp.Client) {
			all, err := tasks.New(tasks.Options{Logger: slog.New(slog.DiscardHandler), Store: store, Others: &tasks.Tool{Later: true}, Poll: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			waiting := tasks.Wait(tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
				if !over {
					_, _ = tasks.Begin(ctx)
				}
			}})(server)
			logged := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) { // as the audit log does
				result, err := waiting.Handle(ctx, req)
				if req.Method == "tools/call" && err == nil {
					results[name]++
				}
				return result, err
			})
			return all, mcp.NewClientWith(all.Middleware()(logged), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
		}
		cut := &awayStore{Store: shared}
		first, c := front("first", cut)
		defer first.Close()
		second, other := front("second", shared)
		defer second.Close()
		_, task, err := tasks.Start(t.Context(), c, "dig", nil)
		if err != nil || task == nil {
			t.Fatal(task, err)
		}
		cut.away.Store(true)
		time.Sleep(15 * time.Second) // the lease is over
		task = tasks.Resume(other, task.ID)
		if status, _, err := task.Status(t.Context()); err != nil || status != "working" {
			t.Fatal(status, err)
		}
		if second.Running() != 1 {
			t.Fatal("the second process has not taken over the task")
		}
		cut.away.Store(false)
		close(work)
		result, err := task.Wait(t.Context())
		if err != nil || result.Text() != "gold" {
			t.Errorf("got %+v, %v", result, err)
		}
		time.Sleep(15 * time.Second)
		if results["first"] != 0 || results["second"] != 1 {
			t.Errorf("results by process: %v, want one in the second", results)
		}
	})
}

// A task whose end the store lost ends again: with its result if a server still has that, otherwise as
// failed.
func TestATaskWhoseEndIsLostEndsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		own  tasks.Options // of the process whose store loses the end
		want string
	}{
		"of another server": {tasks.Options{Others: &tasks.Tool{Later: true}}, "gold <nil>"},
		"of this process":   {tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}}, "the process that ran the task ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				work := make(chan struct{})
				s := mcp.NewServer("s", "1")
				mcp.AddTool(s, "dig", func(context.Context, struct{}) (string, error) { <-work; return "gold", nil })
				behind, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}})
				if err != nil {
					t.Fatal(err)
				}
				defer behind.Close()
				waiting := tasks.Wait(tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
					if !over {
						_, _ = tasks.Begin(ctx)
					}
				}})
				store := &awayStore{Store: state.NewMemory(0)}
				test.own.Store, test.own.Logger = store, slog.New(slog.DiscardHandler)
				all, err := tasks.New(test.own)
				if err != nil {
					t.Fatal(err)
				}
				defer all.Close()
				h := all.Middleware()(waiting(behind.Middleware()(s)))
				_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(h, mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "dig", nil)
				if err != nil || task == nil {
					t.Fatal(task, err)
				}
				store.forget.Store(true)
				close(work)
				time.Sleep(5 * time.Second)
				store.forget.Store(false)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := ""
				if result, err := task.Wait(ctx); result != nil {
					got = fmt.Sprint(result.Text(), " ", err)
				} else {
					got = fmt.Sprint(err)
				}
				if !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}
