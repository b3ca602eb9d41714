package audit

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// The limits of Redacted.
const (
	maxKeptText  = 200     // characters of one string
	maxKept      = 4 << 10 // bytes in all
	maxKeptDepth = 16
)

// Redacted returns data, one JSON value, in a form for logs. It hides secrets by the names of
// members and by the form of tokens of known services. It cuts strings to 200 characters, and omits
// the value if it then exceeds 4 KiB. Secrets without such a name or form stay. For data that must
// not be in a log at all, use nil in place of this function.
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

// tooLong returns the replacement of data that has too many bytes.
func tooLong() json.RawMessage { return jsonrpc.AppendString(nil, "too long to be kept") }

// Omitted returns the replacement of data that is not kept. Data without members stays.
func Omitted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || string(data) == "{}" {
		return data
	}
	return jsonrpc.AppendString(nil, "not kept")
}

// Altered returns the parts of arguments that [Redacted] or [Omitted] changed: the members that
// contain, at any depth, hidden or cut values, or all. A text that only resembles a replacement
// counts, too.
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
