package tasks

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// list marks the tools in a list that may run as tasks. Clients of 2025-11-25 call only these as
// tasks.
func (t *Tasks) list(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	result, err := next.Handle(ctx, req)
	if err != nil || len(t.options.Tools) == 0 {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	changed := false
	tools := jsonrpc.NewArray(make([]byte, 0, len(body)))
	jsonrpc.EachElement(jsonrpc.Get(body, "tools"), func(raw []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
		if tool, found := t.tool(name); found {
			support := "optional"
			if tool.Required {
				support = "required"
			}
			execution := jsonrpc.Get(raw, "execution")
			if len(execution) == 0 || execution[0] != '{' {
				execution = []byte("{}")
			}
			raw = jsonrpc.With(raw, "execution", jsonrpc.With(execution, "taskSupport", jsonrpc.AppendString(nil, support)))
			changed = true
		}
		tools.Element(raw)
		return true
	})
	if !changed {
		return result, nil
	}
	return result.WithJSON(jsonrpc.With(body, "tools", tools.Bytes())), nil
}
