package mcp_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// Middleware of a client is between the client and the connection. The first element sees a request
// first. It sees requests that the client passes on, and none that the cache serves.
func TestClientMiddlewareSeesSentRequests(t *testing.T) {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{ListTTL: time.Hour})
	mcp.AddTool(s, "greet", func(context.Context, none) (string, error) { return "hello", nil })
	for name, connect := range map[string]func(mcp.ClientOptions) (*mcp.Client, error){
		"modern": func(o mcp.ClientOptions) (*mcp.Client, error) {
			o.Revision = "2026-07-28"
			return mcp.DialWith(t.Context(), stream.Pipe(s), o)
		},
		"legacy": func(o mcp.ClientOptions) (*mcp.Client, error) {
			o.Revision = "2025-11-25"
			return mcp.DialWith(t.Context(), stream.Pipe(s), o)
		},
		"in-process": func(o mcp.ClientOptions) (*mcp.Client, error) { return mcp.NewClientWith(s, o), nil },
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			note := func(who string) mcp.Middleware {
				return func(next mcp.Handler) mcp.Handler {
					return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
						seen = append(seen, who+" "+req.Method)
						result, err := next.Handle(ctx, req)
						seen = append(seen, who+" back")
						return result, err
					})
				}
			}
			c, err := connect(mcp.ClientOptions{Middleware: []mcp.Middleware{note("first"), note("second")}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if len(seen) != 0 {
				t.Errorf("connecting went through the middleware: %q", seen)
			}
			if text, err := mcp.Call[string](t.Context(), c, "greet", nil); text != "hello" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			want := []string{"first tools/call", "second tools/call", "second back", "first back"}
			if !slices.Equal(seen, want) {
				t.Errorf("seen %q, want %q", seen, want)
			}
			seen = nil
			req := mcp.NewRequest("prompts/list", nil)
			req.Meta.Capabilities = &mcp.ClientCapabilities{}
			c.Handle(t.Context(), req)
			if len(seen) != 4 || seen[0] != "first prompts/list" {
				t.Errorf("seen %q of a request that is passed on", seen)
			}
			if name == "legacy" {
				return // legacy lists have no caching hints
			}
			seen = nil
			for range 2 {
				if _, err := c.Do(t.Context(), "tools/list", nil); err != nil {
					t.Fatal(err)
				}
			}
			if len(seen) != 4 {
				t.Errorf("seen %q of a list that was asked for twice", seen)
			}
		})
	}
}
