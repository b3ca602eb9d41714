package layer

import (
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/mcp"
)

// readRedactions reads the places to hide for each server.
func readRedactions(_ *Stack, p *Plan) error {
	places := func(r settings.Redact) redact.Places {
		return redact.Places{Arguments: mustPaths(r.Arguments), Results: mustPaths(r.Results)}
	}
	p.redacted = map[string]redact.Options{}
	for name, server := range p.Settings.Servers {
		o := redact.Options{All: places(server.Redact), Tools: map[string]redact.Places{}}
		for tool, t := range server.Tools {
			if hidden := places(t.Redact); !hidden.None() {
				o.Tools[tool] = hidden
			}
		}
		if !o.All.None() || len(o.Tools) > 0 {
			p.redacted[name] = o
		}
	}
	return nil
}

// mustPaths parses paths from settings. Reading the settings has checked them.
func mustPaths(texts []string) redact.Paths {
	p, err := redact.Parse(texts...)
	if err != nil {
		panic(err)
	}
	return p
}

// hide returns middleware that hides places in arguments and results.
func hide(_ *Stack, p *Plan, of Server) mcp.Middleware {
	if o, some := p.redacted[of.Name]; some {
		return redact.Middleware(o)
	}
	return nil
}
