package search

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/toolsearch"
)

// Shown returns the number of tools in list, the result of tools/list, that clients see, and the
// number of all tools in it. It also reports whether search tools replace the others.
func (o Options) Shown(list json.RawMessage) (shown, of int, searched bool) {
	cost, pinned := 0, 0
	jsonrpc.EachElement(jsonrpc.Get(list, "tools"), func(raw []byte) bool {
		of++
		cost += toolsearch.Tokens(string(raw))
		if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); o.isPinned(name) {
			pinned++
		}
		return true
	})
	if !o.replaces(cost) {
		return of, of, false
	}
	return pinned + ownTools, of, true
}

// replaces reports whether search tools replace tools whose definitions cost this many tokens.
func (o *Options) replaces(cost int) bool {
	return o.Mode == Search || o.Mode != All && cost > cmp.Or(o.Budget, defaultBudget)
}

func (o *Options) isPinned(name string) bool {
	return slices.ContainsFunc(o.Pinned, func(pattern string) bool {
		match, _ := path.Match(pattern, name) // Middleware checked the pattern
		return match
	})
}

// has reports whether a server has a tool with this name.
func (s *searcher) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name] != nil
}
