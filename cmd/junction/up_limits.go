package main

import (
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// limitOf identifies a limit. Without a server it holds for each user, else for all clients together.
type limitOf struct{ server, tool string } // no tool: all of the server

// countedLimits know what was counted.
type countedLimits struct {
	settings.Limits
	*ratelimit.Limiter
}

// limitAll makes the limits of users, servers and tools.
func limitAll(_ *layers, _ *cli.App, now *arrangement) error {
	now.limits = map[limitOf]countedLimits{}
	add := func(of limitOf, l settings.Limits, o ratelimit.Options) {
		if l != (settings.Limits{}) {
			now.limits[of] = countedLimits{l, limited(l, o)}
		}
	}
	add(limitOf{}, now.settings.Limits, ratelimit.Options{Key: ratelimit.Caller})
	for name, s := range now.settings.Servers {
		add(limitOf{name, ""}, s.Limits, ratelimit.Options{Whose: fmt.Sprintf("server %s", name)})
		for tool, t := range s.Tools {
			add(limitOf{name, tool}, t.Limits, ratelimit.Options{Whose: fmt.Sprintf("tool %s of server %s", tool, name),
				Matches: func(req *mcp.Request) bool { return req.Method == "tools/call" && req.Name == tool }})
		}
	}
	return nil
}

// keepLimits has the limits that are what they were go on with what was counted, the calls that run among it.
func keepLimits(now, before *arrangement) {
	for of, l := range now.limits {
		if was, there := before.limits[of]; there && was.Limits == l.Limits {
			now.limits[of] = was
		}
	}
}

func userLimit(_ *layers, now *arrangement, _ part) mcp.Middleware {
	if l, there := now.limits[limitOf{}]; there {
		return l.Around
	}
	return nil
}

func serverLimit(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	if l, there := now.limits[limitOf{s.Name, ""}]; there {
		return l.Around
	}
	return nil
}

func toolLimits(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	var all []mcp.Middleware
	for tool := range s.own.Tools {
		if l, there := now.limits[limitOf{s.Name, tool}]; there {
			all = append(all, l.Around)
		}
	}
	if all == nil {
		return nil
	}
	return func(next mcp.Handler) mcp.Handler { return mcp.Chain(next, all...) }
}

// limited makes a limit.
func limited(l settings.Limits, o ratelimit.Options) *ratelimit.Limiter {
	o.Calls, o.In = l.Per()
	o.Bytes, o.BytesIn = l.Volume()
	o.Concurrent = l.Concurrent
	if o.Key != nil && o.Calls > 0 { // a client that waits for its tasks asks about each once a second
		o.Rest = max(restPerCall*o.Calls, minRest)
	}
	return ratelimit.New(o)
}

const (
	// restPerCall is how many requests of a caller may begin for each call that its limit allows: for lists, about tasks.
	restPerCall = 10
	// minRest is how many may in any case: a client that begins asks for all lists.
	minRest = 100
)
