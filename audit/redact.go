package audit

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// The limits of what Redacted keeps.
const (
	maxKeptText  = 200     // characters of one string
	maxKept      = 4 << 10 // bytes in all
	maxKeptDepth = 16
)

// Redacted is data, one JSON value, as a log may keep it: secrets are hidden, by the names of members
// and by how tokens of known services look; strings are cut at 200 characters, and what has more
// than 4 KiB then is left out. A secret that neither its name nor its looks tell stays: what must not be in a log at
// all is left out with nil in place of this function.
func Redacted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	kept, whole := redact.JSON(data, redact.Limits{Text: maxKeptText, Bytes: maxKept, Depth: maxKeptDepth})
	if !whole {
		return tooLong()
	}
	return kept
}

// tooLong stands for data that has too many bytes.
func tooLong() json.RawMessage { return jsonrpc.AppendString(nil, "too long to be kept") }

// Omitted stands for data that is not kept: it says that there was some. Without members there is none.
func Omitted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || string(data) == "{}" {
		return data
	}
	return jsonrpc.AppendString(nil, "not kept")
}

// Altered says what of arguments is not as it was before [Redacted] or [Omitted]: the members that hold, at any depth,
// what was hidden or cut, or all. A text that only looks as if it had been counts, too.
func Altered(kept json.RawMessage) (members []string, all bool) {
	if len(kept) == 0 {
		return nil, false
	}
	if kept[0] != '{' {
		return nil, true
	}
	jsonrpc.EachMember(kept, func(quoted, value []byte) bool {
		if altered(value) {
			name, _ := jsonrpc.Unquote(quoted)
			members = append(members, name)
		}
		return true
	})
	return members, false
}

func altered(value []byte) (is bool) {
	switch value[0] {
	case '{':
		jsonrpc.EachMember(value, func(_, member []byte) bool { is = altered(member); return !is })
	case '[':
		jsonrpc.EachElement(value, func(element []byte) bool { is = altered(element); return !is })
	case '"':
		text, _ := jsonrpc.Unquote(value)
		is = strings.Contains(text, redact.Hidden) || strings.HasSuffix(text, redact.Cut)
	}
	return is
}
