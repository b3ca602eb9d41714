package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// IsToolSearch reports whether a server with these tools is a gateway that hides others behind a
// search; see package gateway/search.
func IsToolSearch(names []string) bool {
	return !slices.ContainsFunc([]string{"search_tools", "describe_tool", "call_tool"}, func(name string) bool { return !slices.Contains(names, name) })
}

// DescribeTool returns the definition of a tool that a gateway does not list. The error for an
// unknown tool may name a similar one.
func DescribeTool(ctx context.Context, client *mcp.Client, name string) (json.RawMessage, error) {
	text, err := mcp.Call[string](ctx, client, "describe_tool", map[string]string{"name": name})
	if failure, failed := errors.AsType[*mcp.ToolFailure](err); failed {
		return nil, cli.Usagef("%s", plaintext.Line(failure.Result.Text(), cli.MaxLog))
	}
	if err != nil {
		return nil, err
	}
	definition := json.RawMessage(text)
	if jsonrpc.Valid(definition, jsonrpc.Limits{}) != nil || definition[0] != '{' {
		return nil, fmt.Errorf("describe_tool gave no definition of %q", name)
	}
	return definition, nil
}
