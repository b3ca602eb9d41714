package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/ratelimit"
)

// dice returns a function that returns random numbers below most. They are the same for the same
// seeds.
func dice(seed, other uint64) func(most int) int {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, other))
	return func(most int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(most)
	}
}

// fickle returns an Upstream whose servers fail, stall, are slow and disconnect at any point.
func fickle(name string, seed uint64) gateway.Upstream {
	n := dice(seed, 0)
	pause := func(ctx context.Context, most time.Duration) {
		select {
		case <-time.After(time.Duration(n(int(most)))):
		case <-ctx.Done():
		}
	}
	u := gateway.Upstream{MaxInstances: 3, IdleTime: time.Minute, Isolation: []gateway.Isolation{gateway.Shared, gateway.PerClient}[n(2)]}
	u.Dial = func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		pause(ctx, 3*time.Second)
		if n(4) == 0 {
			return nil, errors.New("it does not start")
		}
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
		mcp.AddTool(s, "who", func(ctx context.Context, _ struct{}) (string, error) {
			pause(ctx, 2*time.Second)
			return name, nil
		})
		mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := mcp.Elicit[struct {
				Word string `json:"word"`
			}](ctx, name)
			return name + answer.Word, err
		})
		mcp.AddTool(s, "more", func(context.Context, struct{}) (string, error) {
			mcp.AddTool(s, fmt.Sprintf("tool%d", n(1_000_000)), func(context.Context, struct{}) (string, error) { return name, nil })
			return name, nil
		})
		s.AddText(mcp.Resource{URI: "test://" + name, Name: "text"}, name)
		revision := []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}[n(4)]
		near, far := net.Pipe()
		go stream.ServeConn(context.Background(), far, s)
		if n(2) == 0 {
			time.AfterFunc(time.Duration(n(int(20*time.Second))), func() { far.Close() })
		}
		c, err := mcp.DialWith(ctx, stream.Over(near, name), mcp.ClientOptions{Name: name, Revision: revision, Bridge: true, Logger: quiet})
		if err != nil {
			near.Close()
		}
		return c, err
	}
	return u
}

// While members come, change, restart, crash and go, every request ends with the server's own
// response or an error. After the gateway is closed, no goroutine is left.
func TestEveryRequestEndsWhileMembersComeAndGo(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				comeAndGo(t, seed, fickle, func(g *gateway.Gateway) mcp.Handler { return g })
			})
		})
	}
}

// The same holds with all layers around servers and gateway that may make a request wait.
func TestEveryRequestEndsInAllLayersWhileMembersComeAndGo(t *testing.T) {
	asking, err := policy.Compile([]policy.Rule{{Effect: policy.Ask, Server: "b", Tool: "who"}, {Effect: policy.Deny, Server: "c", Tool: "more"}}, policy.Options{Default: policy.Allow})
	must(t, err)
	key, err := audit.NewKey(make([]byte, 32))
	must(t, err)
	around := func(name string, seed uint64) gateway.Upstream {
		u := fickle(name, seed)
		hidden, err := redact.Parse("/nothing")
		must(t, err)
		u.Middleware = []mcp.Middleware{
			results.Middleware(results.Options{Server: name}),
			ratelimit.Middleware(ratelimit.Options{Concurrent: 2}),
			rules.Middleware(rules.Options{Server: name, Policy: func(context.Context) *policy.Policy { return asking }}),
			redact.Middleware(redact.Options{All: redact.Places{Results: hidden}}),
		}
		return u
	}
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, err := audit.Open(t.TempDir(), audit.Options{Key: key, NoSync: true, Logger: quiet})
				must(t, err)
				defer func() { must(t, log.Close()) }()
				comeAndGo(t, seed, around, func(g *gateway.Gateway) mcp.Handler {
					h := ratelimit.Middleware(ratelimit.Options{Concurrent: 3, Calls: 100, Bytes: 10 << 20, Key: ratelimit.Caller})(g)
					h = retry.Middleware(retry.Options{Times: func(*mcp.Request) int { return 2 }})(h)
					return search.Middleware(search.Options{Mode: search.Search, Pinned: []string{"*"}})(log.Calls(audit.CallOptions{})(h))
				})
			})
		})
	}
}

func comeAndGo(t *testing.T, seed uint64, upstream func(name string, seed uint64) gateway.Upstream, front func(*gateway.Gateway) mcp.Handler) {
	g := gateway.New(gateway.Options{Logger: quiet})
	h := front(g)
	all := []string{"a", "b", "c", "d"}
	for i, name := range all[:3] {
		must(t, g.Add(name, upstream(name, seed*100+uint64(i))))
	}
	const longest = 30 * time.Second
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() { visit(t, h, all, seed*1_000+uint64(i), longest) })
	}
	running.Go(func() {
		n := dice(seed, 7)
		for i := range 60 {
			time.Sleep(time.Duration(n(int(3 * time.Second))))
			name := all[n(len(all))]
			ctx, cancel := context.WithTimeout(t.Context(), longest)
			began := time.Now()
			switch n(4) {
			case 0:
				_ = g.Remove(ctx, name)
			case 1:
				_ = g.Add(name, upstream(name, seed*10_000+uint64(i)))
			case 2:
				_ = g.Replace(name, upstream(name, seed*10_000+uint64(i)))
			case 3:
				_ = g.Restart(name)
			}
			cancel()
			if took := time.Since(began); took > longest {
				t.Errorf("a change of %s took %v", name, took)
			}
		}
	})
	running.Wait()
	began := time.Now()
	must(t, g.Close())
	if took := time.Since(began); took > longest {
		t.Errorf("the end took %v", took)
	}
	time.Sleep(time.Minute) // as servers wait a moment for running requests after their client is gone
}

// visit is a client that sends various requests.
func visit(t *testing.T, h mcp.Handler, all []string, seed uint64, longest time.Duration) {
	n := dice(seed, 1)
	revision := []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}[n(4)]
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision, Logger: quiet, OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		time.Sleep(time.Duration(n(int(time.Second))))
		if strings.HasPrefix(req.Message, "May the tool") {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"allow":true}`)}, nil
		}
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"word":"!"}`)}, nil
	}})
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	var listening sync.WaitGroup
	defer listening.Wait()
	for range 60 {
		name := all[n(len(all))]
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n(int(longest/2))))
		began := time.Now()
		var got, want string
		what := ""
		switch n(6) {
		case 0, 1:
			what, want = "who", name
			got, err = mcp.Call[string](ctx, c, name+"__who", nil)
		case 2:
			what, want = "ask", name+"!"
			got, err = mcp.Call[string](ctx, c, name+"__ask", nil)
		case 3:
			what, want = "more", name
			got, err = mcp.Call[string](ctx, c, name+"__more", nil)
		case 4:
			what = "list"
			for tool, failed := range c.Tools(ctx) {
				if err = failed; err == nil && !strings.Contains(tool.Name, "_") {
					t.Errorf("a tool is called %q", tool.Name)
				}
			}
		case 5:
			what = "listen"
			err = nil
			listening.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), longest)
				defer cancel()
				_ = c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://" + name}}, func(mcp.Notification) {})
			})
		}
		cancel()
		if took := time.Since(began); took > longest {
			t.Errorf("%s of %s took %v", what, name, took)
		}
		if err == nil && got != want {
			t.Errorf("%s of %s: %q, want %q", what, name, got, want)
		}
		time.Sleep(time.Duration(n(int(2 * time.Second))))
	}
}
