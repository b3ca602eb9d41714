package search

import (
	"cmp"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/toolsearch"
)

// Shown says how many of the tools of a list, the result of tools/list, clients see, of how many, and whether search
// takes the place of the others.
func (o Options) Shown(list json.RawMessage) (shown, of int, searched bool) {
	s := searcher{options: o}
	cost, pinned := 0, 0
	jsonrpc.EachElement(jsonrpc.Get(list, "tools"), func(raw []byte) bool {
		of++
		cost += toolsearch.Tokens(string(raw))
		if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); s.isPinned(name) {
			pinned++
		}
		return true
	})
	if o.Mode == All || o.Mode != Search && cost <= cmp.Or(o.Budget, defaultBudget) {
		return of, of, false
	}
	return pinned + len([]string{searchTool, describeTool, callTool}), of, true
}
