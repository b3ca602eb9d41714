package layer

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

// maxScopeSets is the maximum number of sets of scopes with a separate search index.
const maxSets = 64

// checkScopes returns middleware that refuses requests of callers that lack the scopes for all
// requests, or the scopes of the called tool.
func checkScopes(s *Stack, p *Plan, _ Part) mcp.Middleware {
	if !s.Authorizes {
		return nil
	}
	o := p.Settings.Authorization
	tools := func(h mcp.Handler) mcp.Handler { return h }
	if len(o.Tools) > 0 {
		tools = middleware.ToolScopes(o.Tools)
	}
	return func(next mcp.Handler) mcp.Handler {
		next = tools(next)
		all := func(string) []string { return o.Needs }
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			ctx = granted.Decide(ctx, req.Method, req.Name, all)
			if len(req.Principal.Lacks(o.Needs)) > 0 {
				err := &mcp.ScopeError{Needs: o.Needs}
				note.Refuse(ctx, note.Scopes, note.Refusal{Rule: "scopes", Refused: err.Error()})
				return mcp.Result{}, err
			}
			return next.Handle(ctx, req)
		})
	}
}

// perSight returns a middleware that keeps around once for each set of scopes and roles, as callers
// with the same sets see the same tools.
func (s *Stack) perSight(p *Plan, around func(RoleSet) mcp.Middleware) mcp.Middleware {
	var matter []string // scopes that decide which tools a caller sees
	if s.Authorizes {
		for _, scopes := range p.Settings.Authorization.Tools {
			matter = append(matter, scopes...)
		}
	}
	if len(matter) == 0 && p.roles == nil {
		return around(nil)
	}
	slices.Sort(matter)
	matter = slices.Compact(matter)
	key := func(who *mcp.Principal) string {
		var has []string
		for _, scope := range matter {
			if who != nil && slices.Contains(who.Scopes, scope) {
				has = append(has, scope)
			}
		}
		return strings.Join(has, " ") + "\n" + p.roles.Of(who).key()
	}
	return func(next mcp.Handler) mcp.Handler {
		return perCaller(key, func(who *mcp.Principal) mcp.Handler { return around(p.roles.Of(who))(next) })
	}
}

// perCaller returns a Handler that makes one for the callers of each key, of which it keeps
// [maxSets].
func perCaller(key func(*mcp.Principal) string, handler func(*mcp.Principal) mcp.Handler) mcp.Handler {
	var mu sync.Mutex
	by := map[string]mcp.Handler{}
	of := func(who *mcp.Principal) mcp.Handler {
		k := key(who)
		mu.Lock()
		defer mu.Unlock()
		h := by[k]
		if h == nil {
			for other := range by {
				if len(by) < maxSets {
					break
				}
				delete(by, other)
			}
			h = handler(who)
			by[k] = h
		}
		return h
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		return of(req.Principal).Handle(ctx, req)
	})
}
