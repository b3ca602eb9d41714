package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Marshal writes v, which is an object, as JSON, with more members: they replace
// those of v that have the same name. Bytes that are not text become U+FFFD.
func Marshal[V any](v any, more map[string]V) (json.RawMessage, error) {
	object, err := encode(v)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		value, err := encode(more[name])
		if err != nil {
			return nil, err
		}
		object = jsonrpc.With(object, name, value)
	}
	return object, nil
}

// encode is json.Marshal without escapes for HTML, which cost tokens where a server
// shows the text of a request to the model as it is.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// String returns the text of a JSON string, and "" for anything else. Unlike the
// rest of Junction it takes strings that are not valid UTF-8, and keeps their bytes:
// some servers send a character in two pieces.
func String(raw []byte) string {
	if text, ok := jsonrpc.Unquote(raw); ok {
		return text
	}
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	var b strings.Builder
	for rest := raw[1 : len(raw)-1]; len(rest) > 0; {
		plain, end := runs(rest)
		b.Write(rest[:plain])
		var escaped string
		if json.Unmarshal(slices.Concat([]byte{'"'}, rest[plain:end], []byte{'"'}), &escaped) == nil {
			b.WriteString(escaped)
		}
		rest = rest[end:]
	}
	return b.String()
}

// StringOf is the text of a member, as [String]; "" if there is none.
func StringOf(object []byte, name string) string { return String(jsonrpc.Get(object, name)) }

// MembersBut are the members of an object that say something, but for those that
// an adapter knows; nil if there are none.
func MembersBut(object []byte, known ...string) map[string]json.RawMessage {
	var more map[string]json.RawMessage
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		if name := String(quoted); string(value) != "null" && !slices.Contains(known, name) {
			if more == nil {
				more = map[string]json.RawMessage{}
			}
			more[name] = slices.Clone(value)
		}
		return true
	})
	return more
}

// Extra is what of a message or call goes back to its provider as it came; nil if nothing does.
func Extra(provider string, members map[string]json.RawMessage) map[string]map[string]json.RawMessage {
	if members == nil {
		return nil
	}
	return map[string]map[string]json.RawMessage{provider: members}
}

// runs returns where the first escapes of a text begin and end.
func runs(text []byte) (start, end int) {
	start = bytes.IndexByte(text, '\\')
	if start < 0 {
		return len(text), len(text)
	}
	for end = start; end+1 < len(text) && text[end] == '\\'; {
		if text[end+1] == 'u' {
			end += len(`u0000`)
		} else {
			end++
		}
		end++
	}
	return start, min(end, len(text))
}

// Number returns the count that a member of an object holds; 0 if it holds none.
func Number(object []byte, name string) int {
	var n float64
	if json.Unmarshal(jsonrpc.Get(object, name), &n) != nil {
		return 0
	}
	const most = 1<<31 - 1 // so that counts can be added up
	return int(max(0, min(n, most)))
}
