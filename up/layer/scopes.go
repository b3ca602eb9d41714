package layer

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

// maxScopeSets is the maximum number of sets of scopes with a separate search index.
const maxScopeSets = 64

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

// perScopes returns middleware that uses around separately for each set of scopes, as callers with
// the same set see the same tools.
func (s *Stack) perScopes(o settings.Authorization, around mcp.Middleware) mcp.Middleware {
	if !s.Authorizes || len(o.Tools) == 0 {
		return around
	}
	var matter []string // scopes that decide which tools a caller sees
	for _, scopes := range o.Tools {
		matter = append(matter, scopes...)
	}
	slices.Sort(matter)
	matter = slices.Compact(matter)
	return func(next mcp.Handler) mcp.Handler {
		var mu sync.Mutex
		by := map[string]mcp.Handler{}
		of := func(p *mcp.Principal) mcp.Handler {
			var has []string
			for _, scope := range matter {
				if p != nil && slices.Contains(p.Scopes, scope) {
					has = append(has, scope)
				}
			}
			key := strings.Join(has, " ")
			mu.Lock()
			defer mu.Unlock()
			h := by[key]
			if h == nil {
				for other := range by {
					if len(by) < maxScopeSets {
						break
					}
					delete(by, other)
				}
				h = around(next)
				by[key] = h
			}
			return h
		}
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			return of(req.Principal).Handle(ctx, req)
		})
	}
}
