package up

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/mcp"
)

// hide reads what is hidden of the calls of each server.
func hide(_ *Layers, _ *cli.App, now *Arrangement) error {
	places := func(r settings.Redact) redact.Places {
		return redact.Places{Arguments: mustPaths(r.Arguments), Results: mustPaths(r.Results)}
	}
	now.Redacted = map[string]redact.Options{}
	for name, server := range now.Settings.Servers {
		o := redact.Options{All: places(server.Redact), Tools: map[string]redact.Places{}}
		for tool, t := range server.Tools {
			if p := places(t.Redact); !p.None() {
				o.Tools[tool] = p
			}
		}
		if !o.All.None() || len(o.Tools) > 0 {
			now.Redacted[name] = o
		}
	}
	return nil
}

// mustPaths reads paths of settings, which were checked.
func mustPaths(texts []string) redact.Paths {
	p, err := redact.Parse(texts...)
	if err != nil {
		panic(err)
	}
	return p
}

func redacted(_ *Layers, now *Arrangement, s LayeredServer) mcp.Middleware {
	if o, some := now.Redacted[s.Name]; some {
		return redact.Middleware(o)
	}
	return nil
}
