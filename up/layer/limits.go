package layer

import (
	"fmt"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// A limitOf identifies a limit. Without a server, the limit applies to each user separately.
// Otherwise it applies to all clients together.
type limitOf struct{ server, tool string } // an empty tool means the whole server

// A limit holds the settings of a limit and its counts.
type limit struct {
	settings.Limits
	*ratelimit.Limiter
}

// readLimits makes the limits of users, servers and tools.
func readLimits(_ *Stack, p *Plan) error {
	p.limits = map[limitOf]limit{}
	add := func(of limitOf, l settings.Limits, o ratelimit.Options) {
		if l == (settings.Limits{}) {
			return
		}
		o.Calls, o.In = l.Per()
		o.Bytes, o.BytesIn = l.Volume()
		o.Concurrent = l.Concurrent
		if o.Key != nil && o.Calls > 0 { // a client that waits for its tasks requests the state of each once a second
			o.Rest = max(restPerCall*o.Calls, MinRest)
		}
		p.limits[of] = limit{l, ratelimit.New(o)}
	}
	add(limitOf{}, p.Settings.Limits, ratelimit.Options{Key: ratelimit.Caller})
	for name, s := range p.Settings.Servers {
		add(limitOf{name, ""}, s.Limits, ratelimit.Options{Whose: fmt.Sprintf("server %s", name)})
		for tool, t := range s.Tools {
			add(limitOf{name, tool}, t.Limits, ratelimit.Options{Whose: fmt.Sprintf("tool %s of server %s", tool, name),
				Matches: func(req *mcp.Request) bool { return req.Method == "tools/call" && req.Name == tool }})
		}
	}
	return nil
}

// keepLimits keeps the counts of unchanged limits, including their running calls.
func keepLimits(next, before *Plan) {
	for of, l := range next.limits {
		if was, there := before.limits[of]; there && was.Limits == l.Limits {
			next.limits[of] = was
		}
	}
}

func limitUser(_ *Stack, p *Plan, _ Part) mcp.Middleware {
	if l, there := p.limits[limitOf{}]; there {
		return l.Around
	}
	return nil
}

func limitServer(_ *Stack, p *Plan, of Server) mcp.Middleware {
	if l, there := p.limits[limitOf{of.Name, ""}]; there {
		return l.Around
	}
	return nil
}

func limitTools(_ *Stack, p *Plan, of Server) mcp.Middleware {
	var all []mcp.Middleware
	for tool := range of.own.Tools {
		if l, there := p.limits[limitOf{of.Name, tool}]; there {
			all = append(all, l.Around)
		}
	}
	if all == nil {
		return nil
	}
	return func(next mcp.Handler) mcp.Handler { return mcp.Chain(next, all...) }
}

const (
	// restPerCall is the number of other requests, such as for lists and about tasks, that a caller
	// may send for each call that its limit allows.
	restPerCall = 10
	// MinRest is the minimum number of these requests, as a new client requests all lists.
	MinRest = 100
)
