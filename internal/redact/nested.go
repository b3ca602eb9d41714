package redact

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// nested returns a string that is JSON itself, or has lines of JSON, such as the body of a request.
// The values with sensitive names in it are hidden. ok is false if there are none. left is the
// number of bytes left for the output.
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

// mayName reports whether a string, in its JSON form, may contain a quoted name whose value may be
// hidden.
func (l *Limits) mayName(body []byte) bool {
	return bytes.Contains(body, []byte(`\u0022`)) || l.mayNamePlainly(body) // the form in which .NET writes each quotation mark
}

// mayNamePlainly is mayName for strings without numeric escapes.
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
		name := bytes.TrimRight(behind[:end], `\`) // of a deeper string
		if is, sure := named(name); !sure || is || l.Hidden != nil && l.Hidden(string(name)) {
			return true
		}
		body = behind[end:] // the end of one may begin the next
	}
}
