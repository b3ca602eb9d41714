package stream_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// TestServeMiddlewareIsAroundEachRequest checks that middleware gets the requests that the
// transport answers itself, under their own names. The Handler gets server/discover for an
// initialize.
func TestServeMiddlewareIsAroundEachRequest(t *testing.T) {
	for _, test := range []struct {
		revision     string
		seen, inside []string
	}{
		{"2025-06-18", []string{"initialize", "ping", "logging/setLevel", "tools/call"}, []string{"server/discover", "tools/call"}},
		{"2026-07-28", []string{"server/discover", "tools/call"}, []string{"server/discover", "tools/call"}},
	} {
		t.Run(test.revision, func(t *testing.T) {
			var mu sync.Mutex
			var seen, inside []string
			noting := func(to *[]string) mcp.Middleware {
				return func(next mcp.Handler) mcp.Handler {
					return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
						if req.Method != "subscriptions/listen" { // comes at any moment after the handshake
							mu.Lock()
							*to = append(*to, req.Method)
							mu.Unlock()
						}
						if req.Name == "refused" {
							return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "refused")
						}
						return next.Handle(ctx, req)
					})
				}
			}
			s := mcp.NewServer("s", "1")
			mcp.AddTool(s, "t", func(context.Context, struct{}) (string, error) { return "done", nil })
			h := mcp.Chain(s, noting(&inside))
			c, err := mcp.DialWith(t.Context(), stream.PipeWith(h, mcp.ServeOptions{Middleware: []mcp.Middleware{noting(&seen)}}), mcp.ClientOptions{Revision: test.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if test.revision < "2026" {
				if err := c.Ping(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := c.Handle(t.Context(), mcp.NewRequest("logging/setLevel", []byte(`{"level":"info"}`))); err != nil {
					t.Error(err)
				}
			}
			if got, err := mcp.Call[string](t.Context(), c, "t", nil); err != nil || got != "done" {
				t.Errorf("%q, %v", got, err)
			}
			mu.Lock()
			if !slices.Equal(seen, test.seen) || !slices.Equal(inside, test.inside) {
				t.Errorf("the middleware saw %q, want %q; the Handler %q, want %q", seen, test.seen, inside, test.inside)
			}
			mu.Unlock()
			if _, err := c.CallTool(t.Context(), "refused", nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
				t.Errorf("what the middleware refuses: %v", err)
			}
		})
	}
}
