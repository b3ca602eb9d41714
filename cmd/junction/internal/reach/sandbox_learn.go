package reach

import (
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

func NeedsArguments(t *mcp.Tool) (needs bool) {
	jsonrpc.EachElement(jsonrpc.Get(t.InputSchema, "required"), func([]byte) bool { needs = true; return false })
	return needs
}
