package layer

import (
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/mcp"
)

// cutResults returns middleware that keeps the text of long results as resources, and sends
// previews instead.
func cutResults(s *Stack, _ *Plan, of Server) mcp.Middleware {
	if of.own.MaxResult == 0 {
		return nil
	}
	return results.Middleware(results.Options{Server: of.Name, Max: of.own.MaxResult, Store: s.results})
}
