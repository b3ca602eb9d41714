package gateway_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// TestNamesDependOnTheOrderAlone makes gateways with the same servers in different ways.
func TestNamesDependOnTheOrderAlone(t *testing.T) {
	upstream := func(server string) gateway.Upstream {
		s := named(t, server, "echo")
		s.AddResource(mcp.Resource{URI: "doc://a", Name: "a"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
		return gateway.Upstream{Handler: s}
	}
	for _, options := range []struct {
		name string
		gateway.Options
	}{
		{"prefixes", gateway.Options{Logger: quiet}},
		{"no prefixes", gateway.Options{Logger: quiet, NoPrefix: true}},
		{"no prefixes, the first one keeps a name", gateway.Options{Logger: quiet, NoPrefix: true, Conflicts: gateway.First}},
	} {
		for _, test := range []struct {
			name  string
			order []string
			do    func(t *testing.T, g *gateway.Gateway)
		}{
			{"the first one is renamed", []string{"my.web", "my web"}, func(t *testing.T, g *gateway.Gateway) {
				must(t, g.Add("alpha", upstream("alpha")))
				must(t, g.Add("my web", upstream("my web")))
				must(t, g.Add("my.web", upstream("my.web")))
				must(t, g.Remove(t.Context(), "alpha"))
			}},
			{"the first one is removed", []string{"b", "c"}, func(t *testing.T, g *gateway.Gateway) {
				for _, name := range []string{"a", "b", "c"} {
					must(t, g.Add(name, upstream(name)))
				}
				must(t, g.Remove(t.Context(), "a"))
			}},
			{"the one with the same prefix is removed", []string{"a-b", "c"}, func(t *testing.T, g *gateway.Gateway) {
				for _, name := range []string{"a.b", "a-b", "c"} {
					must(t, g.Add(name, upstream(name)))
				}
				must(t, g.Remove(t.Context(), "a.b"))
			}},
			{"the first one is replaced", []string{"a.b", "a-b"}, func(t *testing.T, g *gateway.Gateway) {
				must(t, g.Add("a.b", upstream("a.b")))
				must(t, g.Add("a-b", upstream("a-b")))
				must(t, g.Replace("a.b", upstream("a.b")))
			}},
			{"the order is turned round", []string{"c", "b", "a"}, func(t *testing.T, g *gateway.Gateway) {
				for _, name := range []string{"a", "b", "c"} {
					must(t, g.Add(name, upstream(name)))
				}
			}},
			{"one comes in between", []string{"a", "b", "c"}, func(t *testing.T, g *gateway.Gateway) {
				for _, name := range []string{"a", "c", "b"} {
					must(t, g.Add(name, upstream(name)))
				}
			}},
		} {
			t.Run(options.name+", "+test.name, func(t *testing.T) {
				seen := func(g *gateway.Gateway) (offered map[string]string, uris []string) {
					must(t, g.Settle(t.Context()))
					for r, err := range mcp.NewClientWith(g, mcp.ClientOptions{NoCache: true}).Resources(t.Context()) {
						must(t, err)
						uris = append(uris, r.URI)
					}
					return offeredNames(t, g), uris
				}
				fresh := gateway.New(options.Options)
				defer fresh.Close()
				for _, name := range test.order {
					must(t, fresh.Add(name, upstream(name)))
				}
				g := gateway.New(options.Options)
				defer g.Close()
				test.do(t, g)
				_, _ = seen(g) // makes lists before the order changes
				g.SetOrder(test.order)
				wantNames, wantURIs := seen(fresh)
				gotNames, gotURIs := seen(g)
				if !maps.Equal(gotNames, wantNames) || !slices.Equal(gotURIs, wantURIs) {
					t.Errorf("it offers\n%v %q\nand a new one\n%v %q", gotNames, gotURIs, wantNames, wantURIs)
				}
			})
		}
	}
}
