package gateway_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// served returns a gateway and its URL.
func served(t *testing.T) (*gateway.Gateway, string) {
	t.Helper()
	g := gateway.New(gateway.Options{Logger: quiet, FirstList: time.Second})
	h := streamable.HandlerWith(g, streamable.Options{ServeOptions: mcp.ServeOptions{Logger: quiet}})
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		g.Close()
		h.Close()
		server.Close()
	})
	return g, server.URL
}

func addURL(t *testing.T, g *gateway.Gateway, name, url, revision string) {
	t.Helper()
	must(t, add(g, name, func(ctx context.Context) (*mcp.Client, error) {
		return mcp.DialWith(ctx, streamable.Client(url), mcp.ClientOptions{Name: name, Revision: revision, Bridge: true, Logger: quiet})
	}))
}

func settled(t *testing.T, g *gateway.Gateway) gateway.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, g.Settle(ctx))
	all := g.Status()
	return all[len(all)-1]
}

func TestAGatewayRefusesItselfAsMember(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-06-18"} {
		t.Run("by "+revision, func(t *testing.T) {
			g, url := served(t)
			must(t, g.AddHandler("a", member(t, "a")))
			settled(t, g)
			addURL(t, g, "self", url, revision)
			if s := settled(t, g); s.State != gateway.Failed || s.Err == nil || !strings.Contains(s.Err.Error(), "it is this gateway") {
				t.Errorf("status %+v", s)
			}
			if s := g.Status()[0]; s.State != gateway.Connected || s.Tools == 0 {
				t.Errorf("its other member: %+v", s)
			}
		})
	}
}

func TestAGatewayRefusesAMemberThatLeadsBackToIt(t *testing.T) {
	first, firstURL := served(t)
	second, secondURL := served(t)
	third, thirdURL := served(t)
	must(t, first.AddHandler("a", member(t, "a")))
	settled(t, first)
	addURL(t, second, "first", firstURL, "")
	if s := settled(t, second); s.State != gateway.Connected {
		t.Fatalf("the second: %+v", s)
	}
	addURL(t, third, "second", secondURL, "")
	if s := settled(t, third); s.State != gateway.Connected || s.Tools == 0 {
		t.Fatalf("the third: %+v", s)
	}
	addURL(t, first, "third", thirdURL, "")
	if s := settled(t, first); s.State != gateway.Failed || !strings.Contains(s.Err.Error(), `server "third": it is this gateway, or another gateway that has this one`) {
		t.Errorf("the first: %+v", s)
	}
}
