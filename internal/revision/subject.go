package revision

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Subject finds what a request is about in the members of its parameters: a name
// or URI, and the arguments.
func Subject(method string, params *jsonrpc.Members) (name string, arguments json.RawMessage) {
	switch method {
	case "tools/call", "prompts/get":
		name, _ = jsonrpc.Unquote(params.Get("name"))
		arguments = params.Get("arguments")
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		name, _ = jsonrpc.Unquote(params.Get("uri"))
	case "tasks/get", "tasks/update", "tasks/cancel", "tasks/result":
		name, _ = jsonrpc.Unquote(params.Get("taskId"))
	}
	return name, arguments
}
