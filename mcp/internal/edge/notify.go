package edge

import (
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// outgoing returns the parameters of a notification as the client of a request
// gets them; false if it did not ask for it.
func outgoing(method string, params json.RawMessage, meta *mcp.Meta, p *progress) (json.RawMessage, bool) {
	switch method {
	case notifyProgress:
		if meta.ProgressToken == nil || !p.advance(params) {
			return nil, false
		}
		return withFirst(params, "progressToken", meta.ProgressToken), true
	case notifyMessage:
		return params, loud(params, meta.LogLevel)
	}
	return params, true
}

// progress holds how far a request has told it is; it may only increase.
type progress struct {
	told bool
	last float64
}

// advance reports whether the notification says more than the one before.
func (p *progress) advance(params json.RawMessage) bool {
	n, err := strconv.ParseFloat(string(jsonrpc.Get(params, "progress")), 64)
	if err != nil || p.told && n <= p.last {
		return false
	}
	p.told, p.last = true, n
	return true
}

// loud reports whether a log message is of the wanted severity.
func loud(params json.RawMessage, wanted mcp.LogLevel) bool {
	if wanted == "" {
		return false
	}
	level, _ := jsonrpc.Unquote(jsonrpc.Get(params, "level"))
	return mcp.LogLevel(level).Severity() >= wanted.Severity()
}

// withFirst returns the object with one more member, before the others.
func withFirst(object json.RawMessage, name string, value []byte) json.RawMessage {
	out := append(append(append([]byte{'{', '"'}, name...), '"', ':'), value...)
	if len(object) <= len("{}") {
		return append(out, '}')
	}
	return append(append(out, ','), object[1:]...)
}

// withMetaMember returns the parameters with one member of _meta set.
func withMetaMember(params json.RawMessage, name string, value []byte) json.RawMessage {
	return jsonrpc.With(params, "_meta", jsonrpc.With(jsonrpc.Get(params, "_meta"), name, value))
}
