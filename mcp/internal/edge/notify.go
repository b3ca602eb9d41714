package edge

import (
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// outgoing returns the message for a notification of a request, or nil if the client did not
// request such notifications.
func outgoing(method string, params json.RawMessage, meta *mcp.Meta, p *progress) []byte {
	switch {
	case method == notifyProgress && (meta.ProgressToken == nil || !p.advance(params)):
		return nil
	case method == notifyProgress:
		params = withFirst(params, "progressToken", meta.ProgressToken)
	case method == notifyMessage && !severe(params, meta.LogLevel):
		return nil
	}
	return jsonrpc.AppendNotification(nil, method, params)
}

// A progress is the last progress that was sent for a request. It only increases.
type progress struct {
	sent bool
	last float64
}

// advance stores the progress, and reports whether it is larger than the last one.
func (p *progress) advance(params json.RawMessage) bool {
	n, err := strconv.ParseFloat(string(jsonrpc.Get(params, "progress")), 64)
	if err != nil || p.sent && n <= p.last {
		return false
	}
	p.sent, p.last = true, n
	return true
}

// severe reports whether a log message has at least the wanted severity. If wanted is empty, no
// message has.
func severe(params json.RawMessage, wanted mcp.LogLevel) bool {
	if wanted == "" {
		return false
	}
	level, _ := jsonrpc.Unquote(jsonrpc.Get(params, "level"))
	return mcp.LogLevel(level).Severity() >= wanted.Severity()
}

// withFirst returns the object with a member set, as its first member.
func withFirst(object json.RawMessage, name string, value []byte) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Raw(name, value)
	w.Members(object, name)
	return w.Bytes()
}

// withMetaMember returns the params with one member of _meta set.
func withMetaMember(params json.RawMessage, name string, value []byte) json.RawMessage {
	return jsonrpc.With(params, "_meta", jsonrpc.With(jsonrpc.Get(params, "_meta"), name, value))
}
