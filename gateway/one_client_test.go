package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// Behind a gateway with one client a server gets the capabilities of that client, and its requests
// outside of a call reach the client.
func TestServersOfOneClientGetItsCapabilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name  string
			roots bool
			part  gateway.Selection
			want  string
		}{
			{"a client with roots", true, gateway.Selection{}, "1 root"},
			{"a client without", false, gateway.Selection{}, "it has none"},
			{"a client of a part of the gateway", true, gateway.Selection{Servers: []string{"asks"}}, "1 root"},
		} {
			s := mcp.NewServer("asks", "1")
			mcp.AddTool(s, "roots", func(ctx context.Context, _ struct{}) (string, error) {
				if mcp.RequestFrom(ctx).Meta.Capabilities.Roots == nil {
					return "it has none", nil
				}
				roots, err := mcp.Roots(ctx)
				if len(roots) == 1 {
					return "1 root", err
				}
				return "", err
			})
			g := gateway.New(gateway.Options{OneClient: true, NoPrefix: true, Logger: quiet})
			err := g.Add("asks", gateway.Upstream{Dial: func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
				return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Name: "asks", Revision: "2025-11-25", Bridge: true, OneClient: start.Client(), Logger: quiet})
			}})
			if err != nil {
				t.Fatal(err)
			}
			o := mcp.ClientOptions{Revision: "2025-06-18", Logger: quiet}
			if test.roots {
				o.OnRoots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil }
			}
			var h mcp.Handler = g
			if test.part.Servers != nil {
				h = g.Only(test.part)
			}
			c, err := mcp.DialWith(t.Context(), stream.Pipe(h), o)
			if err != nil {
				t.Fatal(err)
			}
			tools := 0
			for range c.Tools(t.Context()) {
				tools++
			}
			if tools != 1 {
				t.Errorf("%s: it lists %d tools, want 1", test.name, tools)
			}
			if text, err := mcp.Call[string](t.Context(), c, "roots", nil); err != nil || text != test.want {
				t.Errorf("%s: %q, %v, want %q", test.name, text, err, test.want)
			}
			c.Close()
			g.Close()
		}
	})
}
