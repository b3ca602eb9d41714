package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// TestClosedPartsShowNothingOfOtherMembers checks instructions, and what is used.
func TestClosedPartsShowNothingOfOtherMembers(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	for _, name := range []string{"a", "b"} {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Instructions: "of " + name, Logger: quiet})
		mcp.AddTool(s, "who", func(context.Context, struct{}) (string, error) { return name, nil })
		mcp.AddTool(s, "other", func(context.Context, struct{}) (string, error) { return name, nil })
		must(t, g.AddHandler(name, s))
	}
	must(t, g.Settle(t.Context()))
	var mu sync.Mutex
	var used []string
	part := g.Only(gateway.Selection{Closed: true, Keep: func(e gateway.Entry) bool { return e.Exposed == "a__who" }, Use: func(_ context.Context, e gateway.Entry) {
		mu.Lock()
		defer mu.Unlock()
		used = append(used, e.Kind+" "+e.Server+" "+e.Name+" "+e.Exposed)
	}})
	c, err := mcp.Dial(t.Context(), stream.Pipe(part))
	must(t, err)
	defer c.Close()
	if text := c.Instructions(); !strings.Contains(text, "of a") || strings.Contains(text, "of b") {
		t.Errorf("its instructions are %q", text)
	}
	if got, err := mcp.Call[string](t.Context(), c, "a__who", nil); err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := mcp.Call[string](t.Context(), c, "a__other", nil); err == nil {
		t.Error("a tool outside of the part is called")
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"tool a who a__who"}; !slices.Equal(used, want) {
		t.Errorf("used are %q, want %q", used, want)
	}
}

// TestClosedPartsHearNoLogMessagesOfOtherMembers checks the messages of members that no client used
// yet.
func TestClosedPartsHearNoLogMessagesOfOtherMembers(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := &logging{Handler: member(t, "a")}, &logging{Handler: member(t, "b")}
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			must(t, g.AddHandler("a", a))
			must(t, g.AddHandler("b", b))
			must(t, g.Settle(t.Context()))
			part := g.Only(gateway.Selection{Closed: closed, Keep: func(e gateway.Entry) bool { return e.Server == "a" }})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := new(logPeer)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{}}`))
			req.Peer, req.Meta.LogLevel = p, mcp.LogWarning
			go func() { _, _ = part.Handle(ctx, req) }()
			synctest.Wait()
			a.log(t, "error", "mine")
			p.check(t, "of its own member", 1)
			b.log(t, "error", "yours")
			p.check(t, "of another member", map[bool]int{false: 2, true: 1}[closed])
		})
	}
}
