package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// revisions lists one revision of each era, and the oldest.
var revisions = []string{"2026-07-28", "2025-11-25", "2024-11-05"}

// speaking connects to the server with a client of one revision.
func speaking(t *testing.T, h mcp.Handler, revision string) *mcp.Client {
	t.Helper()
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestEmptyServersDeclareCapabilities(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Capabilities: mcp.ServerCapabilities{
				Tools: &mcp.ListCapability{}, Prompts: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{}, Completions: &struct{}{},
				Experimental: map[string]json.RawMessage{"x": json.RawMessage(`{"y":1}`)},
			}})
			c := speaking(t, s, revision)
			can := c.Capabilities()
			if can.Tools == nil || !can.Tools.ListChanged || can.Prompts == nil || can.Resources == nil || !can.Resources.Subscribe || string(can.Experimental["x"]) != `{"y":1}` {
				t.Errorf("capabilities %+v", can)
			}
			for method, list := range map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
				for raw, err := range c.List(t.Context(), method, list) {
					t.Errorf("%s: %s, %v", method, raw, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heard, ended := make(chan mcp.Notification, 8), make(chan error, 1)
			ready := make(chan mcp.SubscriptionFilter, 1)
			go func() {
				ended <- c.ListenWith(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n }, func(f mcp.SubscriptionFilter) { ready <- f })
			}()
			if agreed := <-ready; !agreed.ToolsListChanged {
				t.Errorf("agreed %+v", agreed)
			}
			s.AddTool(mcp.Tool{Name: "first"}, nothing)
			if n := <-heard; n.Method != "notifications/tools/list_changed" {
				t.Errorf("heard %+v", n)
			}
			cancel()
			<-ended
		})
	}
}

func TestCustomMethodsInEachEra(t *testing.T) {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Capabilities: mcp.ServerCapabilities{
		Extensions: map[string]json.RawMessage{"com.example/index": json.RawMessage(`{}`)},
	}})
	s.HandleMethod("com.example/reindex", func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if err := mcp.Progress(ctx, 1, 2, "half"); err != nil {
			return mcp.Result{}, err
		}
		return mcp.Result{Value: map[string]bool{"done": true}}, nil
	})
	s.HandleMethod("com.example/crash", func(context.Context, *mcp.Request) (mcp.Result, error) { panic("oh no") })
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			c := speaking(t, s, revision)
			progress := 0
			ctx := mcp.WatchProgress(t.Context(), func(mcp.ProgressUpdate) { progress++ })
			result, err := c.Do(ctx, "com.example/reindex", json.RawMessage(`{"index":"a"}`))
			if body, _ := result.Encoded(); err != nil || string(body) != `{"done":true}` || progress != 1 {
				t.Errorf("%s, %v, progress %d", body, err, progress)
			}
			for method, code := range map[string]int{"com.example/crash": mcp.CodeInternalError, "com.example/nothing": mcp.CodeMethodNotFound} {
				if _, err := c.Do(t.Context(), method, nil); !errors.Is(err, &mcp.Error{Code: code}) {
					t.Errorf("%s: %v", method, err)
				}
			}
		})
	}
	for _, method := range []string{"", "tools/call", "initialize", "roots/list", "notifications/x", "com.example/crash"} {
		if panicOf(func() {
			s.HandleMethod(method, func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, nil })
		}) == "" {
			t.Errorf("method %q was taken", method)
		}
	}
	if panicOf(func() { s.HandleMethod("com.example/nil", nil) }) == "" {
		t.Error("a nil function was taken")
	}
}

func TestLegacySessionsHoldValues(t *testing.T) {
	type counter struct{}
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "count", func(ctx context.Context, _ struct{}) (string, error) {
		session := mcp.RequestFrom(ctx).Session
		n, _ := session.Value(counter{}).(int)
		if !session.SetValue(counter{}, n+1) {
			return "there is no session", nil
		}
		return fmt.Sprint(n + 1), nil
	})
	for revision, want := range map[string][]string{
		"2025-11-25": {"1", "2", "3"},
		"2026-07-28": {"there is no session", "there is no session", "there is no session"},
	} {
		for range 2 { // sessions are independent
			c := speaking(t, s, revision)
			for i := range want {
				if got, err := mcp.Call[string](t.Context(), c, "count", nil); err != nil || got != want[i] {
					t.Errorf("%s, call %d: %q, %v", revision, i+1, got, err)
				}
			}
		}
	}
}

// TestToolsPerPrincipal tests the pattern in docs/server.md.
func TestToolsPerPrincipal(t *testing.T) {
	forAll, forAdmins := mcp.NewServer("s", "1"), mcp.NewServer("s", "1")
	for _, s := range []*mcp.Server{forAll, forAdmins} {
		s.AddTool(mcp.Tool{Name: "look"}, nothing)
	}
	forAdmins.AddTool(mcp.Tool{Name: "erase"}, nothing)
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Principal != nil && req.Principal.Subject == "root" {
			return forAdmins.Handle(ctx, req)
		}
		return forAll.Handle(ctx, req)
	})
	as := func(p *mcp.Principal) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			known := *req
			known.Principal = p
			return h.Handle(ctx, &known)
		})
	}
	for _, test := range []struct {
		principal *mcp.Principal
		want      []string
	}{{nil, []string{"look"}}, {&mcp.Principal{Subject: "ada"}, []string{"look"}}, {&mcp.Principal{Subject: "root"}, []string{"erase", "look"}}} {
		for _, revision := range revisions {
			var got []string
			for tool, err := range speaking(t, as(test.principal), revision).Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, tool.Name)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%+v, %s: %v", test.principal, revision, got)
			}
		}
	}
}
