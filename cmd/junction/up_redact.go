package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/mcp"
)

// hide reads what is hidden of the calls of each server.
func hide(_ *layers, _ *app, now *arrangement) error {
	var faults []error
	paths := func(at string, texts []string) redact.Paths {
		p, err := now.paths(at, texts)
		faults = append(faults, err)
		return p
	}
	places := func(at string, r settings.Redact) redact.Places {
		return redact.Places{Arguments: paths(at+".redact.arguments", r.Arguments), Results: paths(at+".redact.results", r.Results)}
	}
	now.redacted = map[string]redact.Options{}
	for _, name := range slices.Sorted(maps.Keys(now.settings.Servers)) {
		server, at := now.settings.Servers[name], "servers."+name
		o := redact.Options{All: places(at, server.Redact), Tools: map[string]redact.Places{}}
		for _, tool := range slices.Sorted(maps.Keys(server.Tools)) {
			if p := places(at+".tools."+tool, server.Tools[tool].Redact); !p.None() {
				o.Tools[tool] = p
			}
		}
		if !o.All.None() || len(o.Tools) > 0 {
			now.redacted[name] = o
		}
	}
	return errors.Join(faults...)
}

// paths reads the paths of what a setting hides.
func (now *arrangement) paths(at string, texts []string) (redact.Paths, error) {
	p, err := redact.Parse(texts...)
	if err != nil {
		err = fmt.Errorf("%s: junction.%s: %w", filename.Short(now.from), at, err)
	}
	return p, err
}

func redacted(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	if o, some := now.redacted[s.name]; some {
		return redact.Middleware(o)
	}
	return nil
}
