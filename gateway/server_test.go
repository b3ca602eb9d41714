package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// Requests of a server outside of calls go to the client that listens on that server.
func TestAServerAsksTheClientThatListensOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{OneClient: true, Logger: quiet})
		names := []string{"a", "b"}
		servers := map[string]*askingServer{}
		var served []chan struct{}
		for _, name := range names {
			near, far := net.Pipe()
			s := &askingServer{conn: far, asks: []string{"notifications/initialized"}, answered: make(chan struct{})}
			servers[name] = s
			ended := make(chan struct{})
			served = append(served, ended)
			go func() { defer close(ended); s.serve() }()
			must(t, g.Add(name, gateway.Upstream{Dial: func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
				return mcp.DialWith(ctx, stream.Over(near, name), mcp.ClientOptions{Name: name, Revision: "2025-11-25", Bridge: true, OneClient: start.Client(), Logger: quiet})
			}}))
		}
		var clients []*mcp.Client
		for i := len(names) - 1; i >= 0; i-- { // the client of the second listens first
			name := names[i]
			c, err := mcp.DialWith(t.Context(), stream.Pipe(g.Server(name)), mcp.ClientOptions{Revision: "2025-06-18", Logger: quiet,
				OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///" + name}}, nil }})
			must(t, err)
			clients = append(clients, c)
			synctest.Wait()
		}
		for _, name := range names {
			c := clients[len(names)-1]
			if name == "b" {
				c = clients[0]
			}
			if got, err := mcp.Call[string](t.Context(), c, "roots", nil); err != nil || got != "file:///"+name {
				t.Errorf("server %s has the roots %q, %v", name, got, err)
			}
		}
		for _, c := range clients {
			c.Close()
		}
		g.Close()
		for _, name := range names {
			servers[name].conn.Close()
		}
		for _, ended := range served {
			<-ended
		}
	})
}

// Some servers ask for the roots as soon as they are connected.
func TestAServerIsConnectedWhenItsClientCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{OneClient: true, Logger: quiet})
		defer g.Close()
		var dials [3]atomic.Int32
		names := []string{"listened", "called", "neither"}
		servers := map[string]mcp.Handler{}
		for i, name := range names {
			server := member(t, name)
			must(t, add(g, name, func(ctx context.Context) (*mcp.Client, error) {
				dials[i].Add(1)
				return mcp.DialWith(ctx, stream.Pipe(server), mcp.ClientOptions{Name: name, Logger: quiet})
			}))
			servers[name] = g.Server(name)
		}
		dialled := func(want ...int32) {
			t.Helper()
			time.Sleep(time.Minute)
			for i, n := range want {
				if got := dials[i].Load(); got != n {
					t.Errorf("%s was connected %d times, want %d", names[i], got, n)
				}
			}
		}
		dialled(0, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{}}`))
			req.Peer = mcp.NoPeer{}
			_, _ = servers["listened"].Handle(ctx, req)
		}()
		dialled(1, 0, 0)
		if _, err := mcp.Call[string](t.Context(), mcp.NewClient(servers["called"]), "who", nil); err != nil {
			t.Error(err)
		}
		dialled(1, 1, 0)
		cancel()
		<-ended
	})
}

func TestOfferedHasTheChangesThatWereRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := member(t, "one")
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		if g.Offered("one") != nil {
			t.Error("a server that there is not offers something")
		}
		must(t, g.AddHandler("one", server))
		must(t, g.AddHandler("two", member(t, "two")))
		must(t, g.Settle(t.Context()))
		before, changed := g.Offered("one"), g.Changed()
		if before == nil || before != g.Offered("one") {
			t.Fatalf("offered are %p and then %p", before, g.Offered("one"))
		}
		if got := toolsOf(before.Tools); len(got) == 0 || got[0] == "one__who" {
			t.Errorf("the tools are %q, want those of the server's own names", got)
		}
		mcp.AddTool(server, "more", func(context.Context, struct{}) (string, error) { return "", nil })
		synctest.Wait()
		g.Fresh(t.Context(), "one", "nothing")
		select {
		case <-changed:
		default:
			t.Error("the change is not reported")
		}
		if after := g.Offered("one"); after == before || len(after.Tools) != len(before.Tools)+1 {
			t.Errorf("then the tools are %q", toolsOf(after.Tools))
		}
		if s, ok := g.StatusOf("two"); !ok || s.Name != "two" || s.State != gateway.Connected {
			t.Errorf("the other one stands as %+v, %t", s, ok)
		}
		if _, ok := g.StatusOf("nothing"); ok {
			t.Error("a server that there is not has a status")
		}
	})
}

func toolsOf(raw []json.RawMessage) (names []string) {
	for _, one := range raw {
		var t mcp.Tool
		if json.Unmarshal(one, &t) == nil {
			names = append(names, t.Name)
		}
	}
	return names
}
