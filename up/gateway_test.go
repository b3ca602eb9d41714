package up

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// newGateway returns a gateway that is not started, and closes it at the end of the test.
func newGateway(t *testing.T, p *Plan) *Gateway {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	g, err := New(p, Options{Layers: layer.Options{Logger: silent}, Gateway: gateway.Options{Logger: silent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// slow returns a server with one tool, work, that takes a second.
func slow(name string) mcp.Handler {
	s := mcp.NewServer(name, "1")
	mcp.AddTool(s, "work", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(time.Second):
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	return s
}

// printed returns a server of this program that is replaced when its print changes.
func printed(name, print string) Server {
	s := InProcess(name, slow(name))
	s.Print = print
	return s
}

// parsed returns the settings of a text.
func parsed(t *testing.T, text string) *settings.Settings {
	t.Helper()
	s, err := settings.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A call that runs while the plan is replaced ends by the plan with which it began.
func TestApplyFailsNoCall(t *testing.T) {
	const plain = `{"tools": "all"}`
	const ruled = `{"tools": "all", "policy": "testdata/policy.json"}`
	for _, test := range []struct {
		name     string
		settings string
		servers  []Server
		want     Diff
	}{
		{"nothing", plain, []Server{printed("a", "1"), printed("b", "1")}, Diff{}},
		{"rules", ruled, []Server{printed("a", "1"), printed("b", "1")}, Diff{Changed: []string{"a", "b"}, Rules: true, Settings: true}},
		{"a setting that needs no restart", `{"tools": "all", "servers": {"a": {"limits": {"rate": "9/s"}}}}`, []Server{printed("a", "1"), printed("b", "1")}, Diff{Changed: []string{"a"}, Settings: true}},
		{"a setting that needs a restart", `{"tools": "all", "servers": {"a": {"isolation": "client"}}}`, []Server{printed("a", "1"), printed("b", "1")}, Diff{Changed: []string{"a"}, Settings: true}},
		{"a server", plain, []Server{printed("a", "2"), printed("b", "1")}, Diff{Changed: []string{"a"}}},
		{"a server that is removed, and one that is added", plain, []Server{printed("b", "1"), printed("c", "1")}, Diff{Added: []string{"c"}, Removed: []string{"a"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway(t, &Plan{Settings: parsed(t, plain), Servers: []Server{printed("a", "1"), printed("b", "1")}})
				g.Start(t.Context())
				called := make(chan error)
				go func() {
					result, err := mcp.NewClient(g).CallTool(t.Context(), "a__work", nil)
					if err == nil && result.Text() != "done" {
						err = errors.New(result.Text())
					}
					called <- err
				}()
				synctest.Wait()
				d, err := g.Apply(t.Context(), &Plan{Settings: parsed(t, test.settings), Servers: test.servers})
				if err != nil || !reflect.DeepEqual(d, test.want) {
					t.Errorf("got %+v, want %+v; %v", d, test.want, err)
				}
				if err := <-called; err != nil {
					t.Errorf("the call: %v", err)
				}
			})
		})
	}
}

func TestRulesHoldForCallsThatBeginAfterApply(t *testing.T) {
	s := &settings.Settings{Tools: "all", Profiles: map[string]settings.Profile{"p": {}}}
	g := newGateway(t, &Plan{Settings: s, Servers: []Server{InProcess("clock", slow("clock"))}})
	g.Start(t.Context())
	call := func(h mcp.Handler) error {
		_, err := mcp.NewClient(h).CallTool(t.Context(), "clock__work", nil)
		return err
	}
	profile, alone := g.Profile("p"), g.Server("clock")
	for _, h := range []mcp.Handler{g, profile} {
		if err := call(h); err != nil {
			t.Error(err)
		}
	}
	if _, err := mcp.NewClient(alone).CallTool(t.Context(), "work", nil); err != nil {
		t.Error(err)
	}
	if _, err := g.Apply(t.Context(), &Plan{Settings: &settings.Settings{Tools: "all", Policy: "testdata/none.json"}}); err == nil {
		t.Error("rules that do not exist can be used")
	}
	if err := call(g); err != nil {
		t.Errorf("once a plan could not be used: %v", err)
	}
	if _, err := g.Apply(t.Context(), &Plan{Settings: &settings.Settings{Tools: "all", Policy: "testdata/policy.json"}, Servers: []Server{InProcess("clock", slow("clock"))}}); err != nil {
		t.Fatal(err)
	}
	if err := call(g); err == nil || !strings.Contains(err.Error(), "time does not matter here") {
		t.Errorf("denied: %v", err)
	}
	if err := call(profile); g.Profile("p") != nil || err == nil || !strings.Contains(err.Error(), `there is no profile "p" any more`) {
		t.Errorf("of a profile that is gone: %v", err)
	}
}

// OnEnd is called if a server cannot be added, and when it is removed.
func TestOnEndIsCalledForServersThatAreNotServed(t *testing.T) {
	held := 0
	opens := func(name string, err error) Server {
		s := InProcess(name, slow(name))
		open := s.Open
		s.Open = func(ctx context.Context) (gateway.Upstream, error) {
			if err != nil {
				return gateway.Upstream{}, err
			}
			u, err := open(ctx)
			held++
			u.OnEnd = func() { held-- }
			return u, err
		}
		return s
	}
	g := newGateway(t, &Plan{})
	d, err := g.Apply(t.Context(), &Plan{Servers: []Server{opens("a", nil), opens("a", nil), opens("b", os.ErrNotExist)}})
	if err != nil || !d.Waits || held != 0 {
		t.Errorf("before it starts: %+v, %d are held, %v", d, held, err)
	}
	if d = g.Start(t.Context()); len(d.Failed) != 2 || !errors.Is(d.Failed[1], os.ErrNotExist) || held != 1 {
		t.Errorf("started: %+v, %d are held", d, held)
	}
	if d, err = g.Apply(t.Context(), new(Plan)); err != nil || len(d.Removed) != 1 || g.Server("a") != nil {
		t.Errorf("removed: %+v, %v", d, err)
	}
	if _ = g.Close(); held != 0 {
		t.Errorf("%d are held", held)
	}
}

// If two servers have the same name for a tool, the first server gets it. This also holds after a
// plan changed their order.
func TestServersHaveTheOrderOfThePlan(t *testing.T) {
	a, b := InProcess("a", slow("a")), InProcess("b", slow("b"))
	s := &settings.Settings{Tools: "all", Names: "none", Conflicts: "priority"}
	g := newGateway(t, &Plan{Settings: s, Servers: []Server{a, b}})
	g.Start(t.Context())
	for _, test := range []struct {
		plan *Plan
		want string
	}{
		{&Plan{Settings: s, Servers: []Server{a, b}}, "a"},
		{&Plan{Settings: s, Servers: []Server{b, a}}, "b"},
		{&Plan{Settings: s, Servers: []Server{b, a}, Order: []string{"a", "b"}}, "a"},
	} {
		if _, err := g.Apply(t.Context(), test.plan); err != nil {
			t.Fatal(err)
		}
		if server, _ := g.Members().Destination("work"); server != test.want {
			t.Errorf("work is of %q, want %q", server, test.want)
		}
	}
}

// The middleware of a server stays around it while settings change the layers.
func TestAServerKeepsItsMiddleware(t *testing.T) {
	t.Parallel()
	calls := 0
	s := InProcess("s", slow("s"))
	s.Middleware = []mcp.Middleware{func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" {
				calls++
				return mcp.Result{}, errors.New("the middleware decides")
			}
			return next.Handle(ctx, req)
		})
	}}
	g := newGateway(t, &Plan{Settings: parsed(t, `{"tools": "all"}`), Servers: []Server{s}})
	g.Start(t.Context())
	for i, text := range []string{`{"tools": "all"}`, `{"tools": "all", "servers": {"s": {"tags": ["x"]}}}`} {
		if _, err := g.Apply(t.Context(), &Plan{Settings: parsed(t, text), Servers: []Server{s}}); err != nil {
			t.Fatal(err)
		}
		if _, err := mcp.NewClient(g).CallTool(t.Context(), "s__work", nil); err == nil || !strings.Contains(err.Error(), "the middleware decides") || calls != i+1 {
			t.Errorf("with %s: %v after %d calls", text, err, calls)
		}
	}
}
