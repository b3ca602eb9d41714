package up

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// TestASubscriptionEndsWhenATagIsTaken has a role by a tag, which a resource loses while a client
// is subscribed to it.
func TestASubscriptionEndsWhenATagIsTaken(t *testing.T) {
	silent := slog.New(slog.DiscardHandler)
	s := mcp.NewServerWith("a", "1", mcp.ServerOptions{Logger: silent})
	s.AddResource(mcp.Resource{URI: "x:a", Name: "a"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:a", Text: "a"}}}, nil
	})
	planOf := func(tags string) *Plan {
		p := &Plan{Settings: parsed(t, `{"servers": {"a": {"resources": {"x:a": {"tags": [`+tags+`]}}}}, "roles": {"tagged": {"who": ["user:ann"], "tools": ["tag:safe"]}}}`)}
		p.Servers = []Server{InProcess("a", s)}
		return p
	}
	plan := planOf(`"safe"`)
	g, err := New(plan, Options{Layers: layer.Options{Logger: silent, Authenticates: true, Place: place.Place{Dir: t.TempDir()}}, Gateway: gateway.Options{Logger: silent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	g.Start(t.Context())
	if got := as(g, "ann", "resources/read", `{"uri":"x:a"}`); !strings.Contains(got, `"text":"a"`) {
		t.Fatal(got)
	}
	var mu sync.Mutex
	updates := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"resourceSubscriptions":["x:a"]}}`))
	req.Principal = &mcp.Principal{Issuer: "https://login.example", Subject: "ann"}
	req.Peer = &countingPeer{count: func(method string) {
		mu.Lock()
		defer mu.Unlock()
		if method == "notifications/resources/updated" {
			updates++
		}
	}}
	ended := make(chan error, 1)
	go func() { _, err := g.Handle(ctx, req); ended <- err }()
	updated := func() int {
		for range 20 {
			s.ResourceUpdated("x:a")
			time.Sleep(20 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		return updates
	}
	if updated() == 0 {
		t.Fatal("no update arrives")
	}
	if _, err := g.Apply(t.Context(), planOf(``)); err != nil {
		t.Fatal(err)
	}
	if got := as(g, "ann", "resources/read", `{"uri":"x:a"}`); strings.Contains(got, `"text":"a"`) {
		t.Fatal(got)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		before := updated()
		t.Errorf("the subscription goes on: %d updates came after the tag was taken", updated()-before)
	}
}

type countingPeer struct {
	mcp.NoPeer
	count func(method string)
}

// Notify implements [mcp.Peer].
func (p *countingPeer) Notify(_ context.Context, method string, _ json.RawMessage) error {
	p.count(method)
	return nil
}
