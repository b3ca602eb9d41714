package layer

import (
	"cmp"
	"slices"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/mcp"
)

// searchTools returns middleware that lists search tools in place of the other tools.
func searchTools(s *Stack, p *Plan, part Part) mcp.Middleware {
	mode := cmp.Or(part.settings.Tools, p.Settings.Tools, string(search.Auto))
	if mode == string(search.All) || part.Server != "" {
		return nil
	}
	o := search.Options{Mode: search.Mode(mode), Pinned: append(slices.Clone(p.Settings.Pin), part.settings.Pin...)}
	o.Server = func(tool string) (name, about, own string) {
		t, _ := part.Gateway.Tool(tool)
		return t.Server, "", t.Name
	}
	return s.perSight(p, func(set RoleSet) mcp.Middleware {
		o := o
		o.Unavailable = func(tool string) error {
			server, err := part.Gateway.Unavailable(tool)
			if len(part.settings.Servers) > 0 && !slices.Contains(part.settings.Servers, server) {
				return nil
			}
			profile := part.Profile
			if p.roles != nil {
				role, via := p.roles.Decide(set, profile, gateway.Entry{Kind: "tool", Server: server, Exposed: tool})
				if role == "" {
					return nil
				}
				profile = via
			}
			return cmp.Or(err, p.denied(part.Gateway, profile, tool))
		}
		return search.Middleware(o)
	})
}
