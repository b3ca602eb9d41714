package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// ToolScopes returns middleware that lets callers see and call those tools only for which their credentials have the
// scopes ([mcp.Principal]): those that needs has for the tool's name, and for each pattern of [path.Match] that
// matches it. A tool that nothing is said of needs none. A call that lacks some fails with an [mcp.ScopeError]. It
// panics where a pattern is malformed.
func ToolScopes(needs map[string][]string) mcp.Middleware {
	patterns := slices.Sorted(maps.Keys(needs))
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			panic(fmt.Sprintf("middleware: ToolScopes: %q: %v", pattern, err))
		}
	}
	of := func(tool string) (scopes []string) {
		for _, pattern := range patterns {
			if matches, _ := path.Match(pattern, tool); matches {
				scopes = append(scopes, needs[pattern]...)
			}
		}
		return scopes
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Method {
			case "tools/call":
				if scopes := of(req.Name); !hasScopes(req.Principal, scopes) {
					return mcp.Result{}, &mcp.ScopeError{Needs: scopes}
				}
			case "tools/list":
				result, err := next.Handle(ctx, req)
				if err != nil {
					return result, err
				}
				result.Scope = mcp.CachePrivate // others may see other tools
				return editList(result, func(raw json.RawMessage) (json.RawMessage, error) {
					if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); !hasScopes(req.Principal, of(name)) {
						return nil, nil
					}
					return raw, nil
				})
			}
			return next.Handle(ctx, req)
		})
	}
}

func hasScopes(p *mcp.Principal, needs []string) bool {
	return !slices.ContainsFunc(needs, func(scope string) bool { return p == nil || !slices.Contains(p.Scopes, scope) })
}
