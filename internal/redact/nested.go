package redact

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// nested is a string that is JSON itself, or has lines that are, such as the body of a request, without the values whose names in it are sensitive. It is not ok
// where there are none; dst has so many bytes of those that are left.
func (l *Limits) nested(quoted []byte, depth, left int) (text string, ok bool) {
	if !l.mayName(quoted[1 : len(quoted)-1]) {
		return "", false
	}
	text, _ = jsonrpc.Unquote(quoted)
	inside := *l
	inside.Bytes, inside.Depth = max(left, 0), l.Depth-depth-1
	text, ok = Walk{Rewriter: &display{Limits: &inside, end: inside.Bytes}}.Text(text, &Place{})
	return Text(text, l.Text), ok
}

// mayName reports whether quotation marks within a string, as JSON has them, are around a name whose value may be hidden.
func (l *Limits) mayName(body []byte) bool {
	return bytes.Contains(body, []byte(`\u0022`)) || l.mayNamePlainly(body) // as .NET writes each quotation mark
}

// mayNamePlainly is mayName for what has no escapes of a number.
func (l *Limits) mayNamePlainly(body []byte) bool {
	for {
		_, behind, found := bytes.Cut(body, []byte(`\"`))
		if !found {
			return false
		}
		end := bytes.Index(behind, []byte(`\"`))
		if end < 0 {
			return false
		}
		name := bytes.TrimRight(behind[:end], `\`) // of one that is deeper
		if is, sure := named(name); !sure || is || l.Hidden != nil && l.Hidden(string(name)) {
			return true
		}
		body = behind[end:] // what ends one may begin the next
	}
}
