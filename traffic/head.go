package traffic

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// A head holds the main members of a message.
type head struct {
	kind   string // empty if the text is not a message
	id     []byte
	method string
	name   string // name of the tool or prompt, or the URI
	client string // name of the client in initialize
	failed bool   // whether the result reports the failure of a tool

	within string // member of the message whose members are read now
}

// request returns the id and the method of a message. Only a request has both.
func request(message []byte) (id []byte, method string) {
	jsonrpc.EachMember(message, func(name, value []byte) bool {
		switch string(plain(name)) {
		case "id":
			id = value
		case "method":
			method = methodOf(value)
		}
		return id == nil || method == ""
	})
	return id, method
}

// methodOf returns the name of a method. It does not allocate memory for the most frequent ones.
func methodOf(quoted []byte) string {
	switch string(quoted) {
	case `"tools/call"`:
		return "tools/call"
	case `"tools/list"`:
		return "tools/list"
	case `"notifications/progress"`:
		return "notifications/progress"
	}
	method, _ := jsonrpc.Unquote(quoted)
	return method
}

// read reads a message that is known to be valid. It is fast and not strict. It reports whether the
// message may be shown unchanged.
func (h *head) read(message []byte) (asIs bool) {
	if asIs = limitsOf(Request).AsIs(message, h.member); !asIs {
		*h = head{}
		jsonrpc.EachMember(message, func(name, value []byte) bool {
			if h.member(1, plain(name), value); h.within != "" {
				jsonrpc.EachMember(value, func(name, value []byte) bool {
					h.member(2, plain(name), value)
					return true
				})
			}
			return true
		})
	}
	switch {
	case h.method == "":
	case h.id == nil:
		h.kind = Notification
	default:
		h.kind = Request
	}
	return asIs
}

// plain returns a name without quotes and escapes. A peer may escape any letter.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsonrpc.Unquote(quoted)
	return []byte(text)
}

// member reads a member of the message, at depth 1, or a member of one of those, at depth 2. rest
// begins with the value.
func (h *head) member(depth int, name, rest []byte) {
	switch depth {
	case 1:
		h.within = ""
		switch string(name) {
		case "id":
			h.id = first(rest)
		case "method":
			h.method = methodOf(first(rest))
		case "params":
			h.within = "params"
		case "result":
			h.kind, h.within = Response, "result"
		case "error":
			h.kind = Error
		}
	case 2:
		switch {
		case h.within == "params":
			h.param(name, rest)
		case h.within == "result" && string(name) == "isError":
			h.failed = string(first(rest)) == "true"
		}
	}
}

// param reads a member of the params.
func (h *head) param(name, rest []byte) {
	switch string(name) {
	case "name":
		if text, is := jsonrpc.Unquote(first(rest)); is {
			h.name = text
		}
	case "uri":
		if text, is := jsonrpc.Unquote(first(rest)); is && h.name == "" {
			h.name = text
		}
	case "clientInfo":
		name, _ := jsonrpc.Unquote(jsonrpc.Get(rest, "name"))
		version, _ := jsonrpc.Unquote(jsonrpc.Get(rest, "version"))
		h.client = name + "/" + version
	}
}

// first returns the value at the beginning of rest.
func first(rest []byte) []byte {
	end, _ := jsonrpc.SkipValue(rest, 0)
	return rest[:end:end]
}

// limitsOf returns the limits for messages of a kind. They exempt members whose names only look
// like names of secrets. The headers in a note are redacted by their own names.
func limitsOf(kind string) *redact.Limits {
	shown := func(name string) bool { return name == "progressToken" }
	if kind == Note {
		shown = func(name string) bool { return name == "requestHeaders" || name == "responseHeaders" }
	}
	return &redact.Limits{Text: maxShownText, Bytes: maxShown, Depth: maxShownDepth, Shown: shown}
}
