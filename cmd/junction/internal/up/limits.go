package up

import (
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// LimitOf identifies a limit. Without a server it holds for each user, else for all clients together.
type LimitOf struct{ server, tool string } // no tool: all of the server

// CountedLimits know what was counted.
type CountedLimits struct {
	settings.Limits
	*ratelimit.Limiter
}

// limitAll makes the limits of users, servers and tools.
func limitAll(_ *Layers, _ *cli.App, now *Arrangement) error {
	now.Limits = map[LimitOf]CountedLimits{}
	add := func(of LimitOf, l settings.Limits, o ratelimit.Options) {
		if l != (settings.Limits{}) {
			now.Limits[of] = CountedLimits{l, Limited(l, o)}
		}
	}
	add(LimitOf{}, now.Settings.Limits, ratelimit.Options{Key: ratelimit.Caller})
	for name, s := range now.Settings.Servers {
		add(LimitOf{name, ""}, s.Limits, ratelimit.Options{Whose: fmt.Sprintf("server %s", name)})
		for tool, t := range s.Tools {
			add(LimitOf{name, tool}, t.Limits, ratelimit.Options{Whose: fmt.Sprintf("tool %s of server %s", tool, name),
				Matches: func(req *mcp.Request) bool { return req.Method == "tools/call" && req.Name == tool }})
		}
	}
	return nil
}

// keepLimits has the limits that are what they were go on with what was counted, the calls that run among it.
func keepLimits(now, before *Arrangement) {
	for of, l := range now.Limits {
		if was, there := before.Limits[of]; there && was.Limits == l.Limits {
			now.Limits[of] = was
		}
	}
}

func userLimit(_ *Layers, now *Arrangement, _ Part) mcp.Middleware {
	if l, there := now.Limits[LimitOf{}]; there {
		return l.Around
	}
	return nil
}

func serverLimit(_ *Layers, now *Arrangement, s LayeredServer) mcp.Middleware {
	if l, there := now.Limits[LimitOf{s.Name, ""}]; there {
		return l.Around
	}
	return nil
}

func toolLimits(_ *Layers, now *Arrangement, s LayeredServer) mcp.Middleware {
	var all []mcp.Middleware
	for tool := range s.own.Tools {
		if l, there := now.Limits[LimitOf{s.Name, tool}]; there {
			all = append(all, l.Around)
		}
	}
	if all == nil {
		return nil
	}
	return func(next mcp.Handler) mcp.Handler { return mcp.Chain(next, all...) }
}

// Limited makes a limit.
func Limited(l settings.Limits, o ratelimit.Options) *ratelimit.Limiter {
	o.Calls, o.In = l.Per()
	o.Bytes, o.BytesIn = l.Volume()
	o.Concurrent = l.Concurrent
	if o.Key != nil && o.Calls > 0 { // a client that waits for its tasks asks about each once a second
		o.Rest = max(restPerCall*o.Calls, MinRest)
	}
	return ratelimit.New(o)
}

const (
	// restPerCall is how many requests of a caller may begin for each call that its limit allows: for lists, about tasks.
	restPerCall = 10
	// MinRest is how many may in any case: a client that begins asks for all lists.
	MinRest = 100
)
