package layer

import (
	"cmp"
	"slices"

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
	o.Unavailable = func(tool string) error {
		server, err := part.Gateway.Unavailable(tool)
		if len(part.settings.Servers) > 0 && !slices.Contains(part.settings.Servers, server) {
			return nil
		}
		return cmp.Or(err, p.denied(part.Gateway, part.Profile, tool))
	}
	return s.perScopes(p.Settings.Authorization, search.Middleware(o))
}
