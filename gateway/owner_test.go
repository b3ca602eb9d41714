package gateway_test

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

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// A site is a set of gateways that share a store, and pass requests on in this process.
type site struct {
	all     map[string]*replica // by id
	starts  atomic.Int64        // of instances
	running atomic.Int64        // instances
	most    atomic.Int64        // the largest number of running ones
}

// A replica is one gateway of a site.
type replica struct {
	*gateway.Gateway
	site   *site
	owners *replicas.Owners
	store  *awayStore
	end    func()
}

// An awayStore fails while it is away.
type awayStore struct {
	state.Shared
	away atomic.Bool
}

func (s *awayStore) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	if s.away.Load() {
		return state.ErrUnavailable
	}
	return s.Shared.Renew(ctx, hold, ttl)
}

func (s *awayStore) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	if s.away.Load() {
		return state.Hold{}, state.ErrUnavailable
	}
	return s.Shared.Acquire(ctx, name, ttl)
}

// Claim implements [gateway.Owners].
func (r *replica) Claim(ctx context.Context, server, key string) (*gateway.Lease, mcp.Handler, error) {
	at, err := r.owners.Find(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if other := r.site.all[at]; other != r {
		return nil, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			right, err := other.owners.Claim(ctx, key, server)
			if err != nil {
				r.owners.Forget(key, at, 15*time.Second) // longer than a gateway pauses before it asks again
				return mcp.Result{}, gateway.ErrMoved
			}
			defer right.Release()
			return other.HandlePassed(ctx, server, key, req)
		}), nil
	}
	right, err := r.owners.Claim(ctx, key, server)
	if _, elsewhere := errors.AsType[*replicas.ElsewhereError](err); elsewhere || errors.Is(err, replicas.ErrLeaves) {
		return nil, nil, gateway.ErrMoved
	}
	if err != nil {
		return nil, nil, err
	}
	own := gateway.Lease(right)
	return &own, nil, nil
}

// dial starts an instance whose program takes its time to end.
func (s *site) dial(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
	server := counting()
	mcp.AddTool(server, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	c, err := mcp.Dial(ctx, stream.Pipe(server))
	if err != nil {
		return nil, err
	}
	s.starts.Add(1)
	for now, most := s.running.Add(1), s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	go func() { <-c.Done(); s.running.Add(-1) }()
	return c, nil
}

// newSite returns a site with a server.
func newSite(t *testing.T, n int, isolation gateway.Isolation) (s *site, all []*replica) {
	s = &site{all: map[string]*replica{}}
	store := state.NewMemory(0)
	t.Cleanup(func() { _ = store.Close() })
	for range n {
		r := &replica{site: s, store: &awayStore{Shared: store}}
		g := replicas.New(r.store, quiet)
		r.owners = replicas.NewOwners(g, slog.New(slog.DiscardHandler))
		s.all[r.owners.ID()] = r
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		running.Go(func() { r.owners.Run(ctx) })
		r.Gateway = gateway.New(gateway.Options{Logger: quiet})
		must(t, r.Add("counting", gateway.Upstream{Dial: s.dial, Isolation: isolation, Owners: r}))
		r.end = sync.OnceFunc(func() { must(t, r.Close()); cancel(); running.Wait() })
		t.Cleanup(r.end)
		all = append(all, r)
	}
	time.Sleep(5 * time.Second)
	for _, r := range all {
		must(t, r.Settle(t.Context()))
	}
	synctest.Wait()
	s.starts.Store(0) // those that read the lists
	s.most.Store(0)
	return s, all
}

// call calls a tool for a user, and returns the text of the result.
func (r *replica) call(ctx context.Context, user, tool string) (string, error) {
	as := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		of := *req
		of.Caller = nil
		if user != "" {
			of.Principal = &mcp.Principal{Subject: user, Issuer: "i"}
		}
		return r.Handle(ctx, &of)
	})
	result, err := mcp.NewClientWith(as, mcp.ClientOptions{Timeout: -1}).CallTool(ctx, "counting__"+tool, struct{}{})
	if err != nil {
		return "", err
	}
	return result.Text(), nil
}

// owner returns the replica whose instance runs.
func owner(t *testing.T, all []*replica) *replica {
	t.Helper()
	for _, r := range all {
		if r.Status()[0].Instances > 0 {
			return r
		}
	}
	t.Fatal("no replica has the instance")
	return nil
}

// The requests of a user reach one instance through all gateways.
func TestAnInstanceIsAtOneGateway(t *testing.T) {
	for isolation, want := range map[gateway.Isolation]int64{gateway.One: 1, gateway.PerUser: 5, gateway.PerClient: 5} {
		synctest.Test(t, func(t *testing.T) {
			s, all := newSite(t, 3, isolation)
			for i := range 60 {
				user, n := fmt.Sprint("user", i%5), i/5+1
				if want == 1 {
					n = i + 1
				}
				if got, err := all[i%3].call(t.Context(), user, "next"); err != nil || got != fmt.Sprint(n) {
					t.Fatalf("call %d: %s, %v", i, got, err)
				}
			}
			if n := s.starts.Load(); n != want {
				t.Errorf("isolation %d: %d instances started", isolation, n)
			}
		})
	}
}

// A gateway that cannot reach the store ends its instance before another one starts it. The call that
// runs fails once, and those that come wait.
func TestAnInstanceEndsBeforeItStartsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, all := newSite(t, 3, gateway.One)
		if got, err := all[0].call(t.Context(), "", "next"); got != "1" {
			t.Fatal(got, err)
		}
		first := owner(t, all)
		others := all[:0:0]
		for _, r := range all {
			if r != first {
				others = append(others, r)
			}
		}
		failed := make(chan error, 2)
		for _, r := range []*replica{first, others[0]} {
			go func() {
				_, err := r.call(t.Context(), "", "wait")
				failed <- err
			}()
		}
		synctest.Wait()
		first.store.away.Store(true)
		for range 2 {
			if err := <-failed; err == nil || !strings.Contains(err.Error(), `server "counting": its instance was ended while it had the request, which it may have executed, and its state is lost`) {
				t.Errorf("the call that ran: %v", err)
			}
		}
		began := time.Now()
		if _, err := first.call(t.Context(), "", "next"); !errors.Is(err, state.ErrUnavailable) && !errors.Is(err, gateway.ErrMoved) {
			t.Errorf("at the replica without the store: %v", err)
		}
		for i, r := range append(others, others...) {
			if got, err := r.call(t.Context(), "", "next"); err != nil || got != fmt.Sprint(i+1) {
				t.Errorf("call %d elsewhere: %s, %v", i, got, err)
			}
		}
		if took := time.Since(began); took > moveTimeOfTests+replicas.OwnerTime {
			t.Errorf("it took %v", took)
		}
		if n := s.most.Load(); n != 1 || s.starts.Load() != 2 {
			t.Errorf("%d instances ran at the same time, %d started", n, s.starts.Load())
		}
	})
}

const moveTimeOfTests = 31 * time.Second

// A gateway that leaves ends its instance as soon as no call uses it, and the next call starts it
// elsewhere.
func TestAnInstanceLeavesWithItsGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, all := newSite(t, 2, gateway.One)
		if got, err := all[0].call(t.Context(), "", "next"); got != "1" {
			t.Fatal(got, err)
		}
		first := owner(t, all)
		if s := first.Status()[0]; s.State != gateway.Connected || s.MaxInstances != 0 || s.Users != nil {
			t.Errorf("the only instance is shown as one of several: %+v", s)
		}
		other := all[0]
		if first == other {
			other = all[1]
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := other.call(ctx, "", "wait")
			failed <- err
		}()
		synctest.Wait()
		first.owners.Leave()
		time.Sleep(5 * time.Second)
		next := make(chan string, 1)
		go func() {
			got, err := other.call(t.Context(), "", "next")
			next <- fmt.Sprint(got, err)
		}()
		time.Sleep(5 * time.Second)
		select {
		case err := <-failed:
			t.Errorf("the call that runs is ended: %v", err)
		case got := <-next:
			t.Errorf("the next call does not wait for it: %s", got)
		default:
		}
		cancel()
		<-failed
		if got := <-next; got != "1<nil>" {
			t.Errorf("the next call: %s", got)
		}
		if got, err := first.call(t.Context(), "", "next"); got != "2" {
			t.Errorf("through the replica that leaves: %s, %v", got, err)
		}
		if owner(t, all) != other || s.most.Load() != 1 {
			t.Errorf("%d instances ran at the same time", s.most.Load())
		}
	})
}

// A request that was passed on goes no further, and one for an unknown server is refused.
func TestPassedRequestsGoNoFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := newSite(t, 2, gateway.One)
		req := mcp.NewRequest("tools/call", []byte(`{"name":"next","arguments":{}}`))
		req.Meta.Capabilities, req.Peer = &mcp.ClientCapabilities{}, mcp.NoPeer{}
		key := ""
		for i := 0; key == ""; i++ {
			if at, _ := all[0].owners.Find(t.Context(), fmt.Sprint(i)); at == all[1].owners.ID() {
				key = fmt.Sprint(i)
			}
		}
		if _, err := all[0].HandlePassed(t.Context(), "counting", key, req); !errors.Is(err, gateway.ErrMoved) {
			t.Error(err)
		}
		if _, err := all[0].HandlePassed(t.Context(), "other", key, req); err == nil || !strings.Contains(err.Error(), "give all replicas the same configuration") {
			t.Error(err)
		}
	})
}
