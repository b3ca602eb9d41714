package reach

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/lint"
)

// ReadCalls reads the values of --call, of which one without arguments has {}.
func ReadCalls(words []string) ([]lint.Call, error) {
	var calls []lint.Call
	for _, word := range words {
		tool, arguments, given := strings.Cut(word, "=")
		call := lint.Call{Tool: tool, Arguments: json.RawMessage("{}")}
		if given {
			if _, fault := jsonrpc.Index([]byte(arguments), jsonrpc.Limits{}); fault != nil {
				return nil, cli.Usagef("--call %s: expected a JSON object behind the =: %s", tool, fault.Message)
			}
			call.Arguments = json.RawMessage(arguments)
		}
		calls = append(calls, call)
	}
	return calls, nil
}
