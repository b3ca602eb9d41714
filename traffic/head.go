package traffic

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A head is what a message says of itself, in parts of it.
type head struct {
	kind   string // empty if it is no message
	id     []byte
	method string
	name   string // of a tool or prompt, or a URI
	client string // of initialize
	state  []byte // that a request brings back
	result []byte
}

// headOf reads a message that was parsed or made before, and is looked at for a second time: it is quick, and not strict.
func headOf(message []byte) (h head) {
	jsonrpc.EachMember(message, func(name, value []byte) bool {
		switch string(plain(name)) {
		case `"id"`:
			h.id = value
		case `"method"`:
			h.method, _ = jsonrpc.Unquote(value)
		case `"params"`:
			jsonrpc.EachMember(value, h.param)
		case `"result"`:
			h.kind, h.result = Response, value
		case `"error"`:
			h.kind = Error
		}
		return true
	})
	switch {
	case h.method == "":
	case h.id == nil:
		h.kind = Notification
	default:
		h.kind = Request
	}
	return h
}

// plain is a name without its escapes, which hide from nobody else what a message is.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted
	}
	text, _ := jsonrpc.Unquote(quoted)
	return jsonrpc.AppendString(nil, text)
}

// param reads a member of the params.
func (h *head) param(name, value []byte) bool {
	switch string(plain(name)) {
	case `"name"`:
		if text, is := jsonrpc.Unquote(value); is {
			h.name = text
		}
	case `"uri"`:
		if text, is := jsonrpc.Unquote(value); is && h.name == "" {
			h.name = text
		}
	case `"clientInfo"`:
		name, _ := jsonrpc.Unquote(jsonrpc.Get(value, "name"))
		version, _ := jsonrpc.Unquote(jsonrpc.Get(value, "version"))
		h.client = name + "/" + version
	case `"requestState"`:
		h.state = value
	}
	return true
}
