package reach

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// missingMeta is the member of a list's _meta by which a gateway says which servers are not in it; see package gateway.
const missingMeta = "io.github.junction-mcp/missing"

// maxMissing is how many servers are taken from it.
const maxMissing = 100

// An absent server is one whose entries the list of a gateway lacks.
type absent struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// noteMissing is middleware that adds to all what lists say is not in them.
func noteMissing(all *[]absent) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			if err == nil && strings.HasSuffix(req.Method, "/list") {
				*all = missingIn(*all, result.Meta)
			}
			return result, err
		})
	}
}

func missingIn(all []absent, meta json.RawMessage) []absent {
	list := jsonrpc.Get(meta, missingMeta)
	if len(list) == 0 || list[0] != '[' {
		return all
	}
	jsonrpc.EachElement(list, func(raw []byte) bool {
		var one absent
		one.Server, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "server"))
		one.Reason, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "reason"))
		if one.Server != "" && !slices.ContainsFunc(all, func(a absent) bool { return a.Server == one.Server }) {
			all = append(all, one)
		}
		return len(all) < maxMissing
	})
	return all
}
