package tasks

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// list says of the tools that may run as tasks that they do: clients of 2025-11-25 call no other as one.
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
			raw, changed = withSupport(raw, tool.Required), true
		}
		tools.Element(raw)
		return true
	})
	if !changed {
		return result, nil
	}
	return result.WithJSON(jsonrpc.With(body, "tools", tools.Bytes())), nil
}

func withSupport(tool []byte, required bool) []byte {
	support := "optional"
	if required {
		support = "required"
	}
	execution := jsonrpc.Get(tool, "execution")
	if len(execution) == 0 || execution[0] != '{' {
		execution = []byte("{}")
	}
	return jsonrpc.With(tool, "execution", jsonrpc.With(execution, "taskSupport", jsonrpc.AppendString(nil, support)))
}
