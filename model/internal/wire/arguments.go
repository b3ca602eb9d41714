package wire

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// maxArguments is how many bytes the arguments of one call may have.
const maxArguments = 4 << 20

// SetArguments reads what a model wrote as arguments into the call. Nothing and
// null are an empty object, and an object within a JSON string is taken out of it;
// what else is no object makes the call malformed.
func SetArguments(call *model.Call, written string) {
	text := strings.TrimSpace(written)
	if inner, ok := quotedObject(text); ok {
		text = inner
	}
	if text == "" || text == "null" {
		text = "{}"
	}
	if problem := objectProblem(text); problem != "" {
		call.Arguments, call.Malformed, call.Raw = json.RawMessage("{}"), problem, written
		return
	}
	call.Arguments = json.RawMessage(text)
}

func quotedObject(text string) (string, bool) {
	if !strings.HasPrefix(text, `"`) || len(text) > maxArguments || jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) != nil {
		return "", false
	}
	inner, ok := jsonrpc.Unquote([]byte(text))
	inner = strings.TrimSpace(inner)
	return inner, ok && (inner == "" || strings.HasPrefix(inner, "{"))
}

func objectProblem(text string) string {
	switch {
	case len(text) > maxArguments:
		return "the arguments are longer than 4 MiB"
	case text[0] != '{':
		return "the arguments are not a JSON object"
	}
	if fault := jsonrpc.Valid([]byte(text), jsonrpc.Limits{}); fault != nil {
		return "the arguments are not valid JSON: " + fault.Message
	}
	return ""
}
