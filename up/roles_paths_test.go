package up

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// TestARoleByAPathEndsAtThePath reads URIs that begin below the path that a role names, and lead
// out of it.
func TestARoleByAPathEndsAtThePath(t *testing.T) {
	silent := slog.New(slog.DiscardHandler)
	s := mcp.NewServerWith("a", "1", mcp.ServerOptions{Logger: silent})
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "file:///{+path}", Name: "a"}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: "READ " + uri}}}, nil
	})
	p := &Plan{Settings: parsed(t, `{"roles": {"public": {"who": ["user:ann"], "tools": ["resource:file:///pub/*"]}}}`)}
	p.Servers = []Server{InProcess("a", s)}
	g, err := New(p, Options{Layers: layer.Options{Logger: silent, Authenticates: true, Place: place.Place{Dir: t.TempDir()}}, Gateway: gateway.Options{Logger: silent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	g.Start(t.Context())
	for uri, may := range map[string]bool{
		"file:///pub/a":              true,
		"file:///secret":             false,
		"file:///pub/../secret":      false,
		"file:///pub/%2e%2e/secret":  false,
		"file:///pub/..%2fsecret":    false,
		"file:///pub%2f..%2fsecret":  false,
		"file:///pub/a%2f../../b":    false,
		"file:///pub/..%5csecret":    false,
		"file:///pub/a..%2fb":        true,
		"file:///pub/a%2fb":          true,
		"file:///pub/a/../../secret": false,
		"FILE:///secret":             false,
		"file:///pub/a/b":            true,
		"file://localhost/pub/a":     false,
	} {
		got := as(g, "ann", "resources/read", `{"uri":"`+uri+`"}`)
		if is := strings.Contains(got, "READ"); is != may {
			t.Errorf("%s is read: %t (%s)", uri, is, got)
		}
	}
}
