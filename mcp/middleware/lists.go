package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// maxNames is the maximum number of remembered tool names. Other tools are listed again when
// needed.
const maxNames = 10_000

// names maps the names of tools to a flag.
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

func (n *names) get(name string) (value, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	value, known = n.known[name]
	return value, known
}

func (n *names) set(name string, value bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= maxNames {
		n.known = make(map[string]bool)
	}
	n.known[name] = value
}

func unknownTool(name string) *mcp.Error {
	return mcp.Errorf(mcp.CodeInvalidParams, "unknown tool %q; tools/list names those that exist", name)
}

// editList passes the tools of a list through f, which returns nil to omit a tool. The other parts
// of the list stay encoded.
func editList(result mcp.Result, f func(json.RawMessage) (json.RawMessage, error)) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	var tools []json.RawMessage
	for _, raw := range elements(body) {
		edited, err := f(raw)
		if err != nil {
			return result, err
		}
		if edited != nil {
			tools = append(tools, edited)
		}
	}
	return withTools(result.WithJSON(body), tools)
}

// elements returns the tools of an encoded list.
func elements(body json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	jsonrpc.EachElement(jsonrpc.Get(body, "tools"), func(raw []byte) bool {
		list = append(list, raw)
		return true
	})
	return list
}

func withTools(result mcp.Result, tools []json.RawMessage) (mcp.Result, error) {
	if tools == nil {
		tools = []json.RawMessage{}
	}
	encoded, err := json.Marshal(tools)
	if err != nil {
		return result, err
	}
	return result.WithJSON(jsonrpc.With(result.JSON, "tools", encoded)), nil
}

// listAll reads all pages of a Handler's tools, for the client that sent req. If a page fails, it
// returns the tools of the pages before it with the error. A cursor that occurs twice ends the
// list.
func listAll(ctx context.Context, h mcp.Handler, req *mcp.Request) ([]json.RawMessage, error) {
	var tools []json.RawMessage
	params := json.RawMessage(`{}`)
	seen := map[[sha256.Size]byte]bool{} // by hash, as a cursor can be long
	for range maxPages {
		list := *req
		list.Method, list.Params, list.Name, list.Arguments, list.ParamHeaders, list.State = methodList, params, "", nil, nil, nil
		result, err := h.Handle(ctx, &list)
		if err != nil {
			return tools, err
		}
		body, err := result.Encoded()
		if err != nil {
			return tools, err
		}
		tools = append(tools, elements(body)...)
		cursor := jsonrpc.Get(body, "nextCursor")
		at := sha256.Sum256(cursor)
		if cursor == nil || string(cursor) == "null" || seen[at] {
			return tools, nil
		}
		seen[at] = true
		params = jsonrpc.With([]byte(`{}`), "cursor", cursor)
	}
	return tools, fmt.Errorf("tools/list: more than %d pages", maxPages)
}
