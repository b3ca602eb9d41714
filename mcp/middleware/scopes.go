package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

// ToolScopes returns middleware that restricts tools to callers with certain scopes
// ([mcp.Principal]). Other callers can neither see nor call them. The keys of needs are the names
// of tools, or patterns of [path.Match], in which a slash is an ordinary character. A tool needs
// the scopes of all entries that match its name, and none if no entry matches. A call without the
// scopes fails with an [mcp.ScopeError]. ToolScopes panics if a pattern is malformed.
func ToolScopes(needs map[string][]string) mcp.Middleware {
	patterns := slices.Sorted(maps.Keys(needs))
	matched := make([]string, len(patterns))
	for i, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			panic(fmt.Sprintf("middleware: ToolScopes: %q: %v", pattern, err))
		}
		matched[i] = unslashed(pattern)
	}
	of := func(tool string) (scopes []string) {
		tool = unslashed(tool)
		for i, pattern := range matched {
			if matches, _ := path.Match(pattern, tool); matches {
				scopes = append(scopes, needs[patterns[i]]...)
			}
		}
		return scopes
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			ctx = granted.Decide(ctx, req.Method, req.Name, of)
			switch req.Method {
			case "tools/call":
				if scopes := of(req.Name); len(req.Principal.Lacks(scopes)) > 0 {
					err := &mcp.ScopeError{Needs: scopes}
					note.Refuse(ctx, note.Scopes, note.Refusal{Rule: "scopes", Refused: err.Error()})
					return mcp.Result{}, err
				}
			case "tools/list":
				result, err := next.Handle(ctx, req)
				if err != nil {
					return result, err
				}
				result.Scope = mcp.CachePrivate // other callers may see other tools
				return editList(result, func(raw json.RawMessage) (json.RawMessage, error) {
					if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); len(req.Principal.Lacks(of(name))) > 0 {
						return nil, nil
					}
					return raw, nil
				})
			}
			return next.Handle(ctx, req)
		})
	}
}

// unslashed replaces the slashes in a name, so that * in a pattern also matches them.
func unslashed(name string) string { return strings.ReplaceAll(name, "/", "\x00") }
