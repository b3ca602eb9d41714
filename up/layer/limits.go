package layer

import (
	"context"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// A limitOf identifies a limit. Without a server the limit holds for each user, else for all
// clients together.
type limitOf struct {
	server, tool string          // an empty tool means the whole server
	user         settings.Limits // the limit itself, of one kind, for those users who have it
}

// A limit holds the settings of a limit and its counts.
type limit struct {
	settings.Limits
	*ratelimit.Limiter
}

// readLimits makes the limits of users, servers and tools.
func readLimits(s *Stack, p *Plan) error {
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
		o.Shares, o.Name = s.Shares, fmt.Sprintf("%q %q %+v", of.server, of.tool, l)
		p.limits[of] = limit{l, ratelimit.New(o)}
	}
	for _, one := range p.userLimits() {
		add(one, one.user, ratelimit.Options{Key: ratelimit.Caller})
	}
	for name, server := range p.Settings.Servers {
		add(limitOf{server: name}, server.Limits, ratelimit.Options{Whose: fmt.Sprintf("server %s", name)})
		for tool, t := range server.Tools {
			add(limitOf{server: name, tool: tool}, t.Limits, ratelimit.Options{Whose: fmt.Sprintf("tool %s of server %s", tool, name),
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

// userLimits returns the limits of users. With roles the limits of different users differ. Each kind
// of limit counts alone, for all users that have the same one, so that counts stay when roles change.
func (p *Plan) userLimits() []limitOf {
	all := []limitOf{}
	add := func(l settings.Limits) {
		for _, one := range kindsOf(l) {
			if one != (settings.Limits{}) && !slices.Contains(all, limitOf{user: one}) {
				all = append(all, limitOf{user: one})
			}
		}
	}
	add(p.Settings.Limits.Limits)
	for _, r := range p.Settings.Roles {
		add(settings.Limits{Rate: r.Rate, Bytes: r.Budget})
	}
	return all
}

// limitKinds is the number of kinds of limits.
const limitKinds = 3

// kindsOf returns limits of one kind each: the rate, the bytes, and the concurrent calls.
func kindsOf(l settings.Limits) [limitKinds]settings.Limits {
	return [limitKinds]settings.Limits{{Rate: l.Rate}, {Bytes: l.Bytes}, {Concurrent: l.Concurrent}}
}

// limitUser limits each user.
func limitUser(_ *Stack, p *Plan, _ Part) mcp.Middleware {
	if len(p.userLimits()) == 0 {
		return nil
	}
	return func(next mcp.Handler) mcp.Handler {
		for kind := range limitKinds {
			unlimited := next
			limited := map[limitOf]mcp.Handler{}
			for of, l := range p.limits {
				if of.server == "" && kindsOf(of.user)[kind] == of.user {
					limited[of] = l.Around(unlimited)
				}
			}
			next = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				limits := p.Settings.Limits.Limits
				if p.roles != nil {
					limits = p.roles.Of(req.Principal).Limits(limits)
				}
				if h, is := limited[limitOf{user: kindsOf(limits)[kind]}]; is {
					return h.Handle(ctx, req)
				}
				return unlimited.Handle(ctx, req)
			})
		}
		return next
	}
}

func limitServer(_ *Stack, p *Plan, of Server) mcp.Middleware {
	if l, there := p.limits[limitOf{server: of.Name}]; there {
		return l.Around
	}
	return nil
}

func limitTools(_ *Stack, p *Plan, of Server) mcp.Middleware {
	var all []mcp.Middleware
	for tool := range of.own.Tools {
		if l, there := p.limits[limitOf{server: of.Name, tool: tool}]; there {
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
