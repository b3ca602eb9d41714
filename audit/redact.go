package audit

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// The limits of Redacted.
const (
	maxKeptText  = 200     // characters of a string
	maxKept      = 4 << 10 // bytes of the whole text
	maxKeptDepth = 16
)

// Redacted returns data, a JSON value, in a form for logs. It hides values of members with names of
// secrets, and tokens in the forms of known services. It cuts strings to 200 characters, and omits
// the value if it still exceeds 4 KiB. It cannot detect other secrets. For data that must not be
// logged at all, use nil in place of this function.
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

// tooLong returns the replacement for a value with too many bytes.
func tooLong() json.RawMessage { return jsonrpc.AppendString(nil, "too long to be kept") }

// Omitted returns the replacement for data that is not logged. It returns an empty object
// unchanged.
func Omitted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || string(data) == "{}" {
		return data
	}
	return jsonrpc.AppendString(nil, "not kept")
}

// Altered returns the parts of arguments that [Redacted] or [Omitted] changed. members lists the
// members that contain a hidden or cut value at any depth; all is set if the whole value was
// replaced. A text that merely looks like a replacement counts, too.
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
