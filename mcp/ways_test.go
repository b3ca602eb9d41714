package mcp_test

import (
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const (
	newestLegacy = "2025-11-25"
	modern       = "2026-07-28"
)

// A way is one combination of transport, revision and proxy between client and server.
type way struct {
	oldest  string // oldest revision on the way; the newest of all in process
	proxied bool
}

// since reports whether all parties on the way speak at least this revision.
func (w way) since(revision string) bool { return w.oldest >= revision }

// run tests a feature for every revision and transport, directly and through a proxy that speaks
// the other era to the server. It calls serve and options for each combination.
func run(t *testing.T, serve func() mcp.Handler, options func() mcp.ClientOptions, f func(t *testing.T, c *mcp.Client, w way)) {
	t.Run("in process", func(t *testing.T) {
		f(t, mcp.NewClientWith(serve(), options()), way{oldest: modern})
	})
	t.Run("in process through a client", func(t *testing.T) {
		f(t, mcp.NewClientWith(mcp.NewClient(serve()), options()), way{oldest: modern, proxied: true})
	})
	transports := map[string]func(t *testing.T, h mcp.Handler) mcp.Transport{
		"stream": func(_ *testing.T, h mcp.Handler) mcp.Transport { return stream.Pipe(h) },
		"HTTP":   overHTTP,
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", newestLegacy, modern} {
		for name, transport := range transports {
			t.Run(name+" "+revision, func(t *testing.T) {
				f(t, connected(t, transport(t, serve()), options(), revision), way{oldest: revision})
			})
			t.Run(name+" "+revision+" through a proxy", func(t *testing.T) {
				behind := modern
				if revision == modern {
					behind = newestLegacy
				}
				proxy := connected(t, transport(t, serve()), mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{Capabilities: able}}, behind)
				f(t, connected(t, transport(t, proxy), options(), revision), way{oldest: min(revision, behind), proxied: true})
			})
		}
	}
}

func overHTTP(t *testing.T, h mcp.Handler) mcp.Transport {
	handler := streamable.Handler(h)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		server.Close()
	})
	return streamable.Client(server.URL)
}

func connected(t *testing.T, transport mcp.Transport, o mcp.ClientOptions, revision string) *mcp.Client {
	t.Helper()
	o.Revision = revision
	c, err := mcp.DialWith(t.Context(), transport, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.Revision() != revision {
		t.Fatalf("revision %s, want %s", c.Revision(), revision)
	}
	return c
}

func noOptions() mcp.ClientOptions { return mcp.ClientOptions{} }
