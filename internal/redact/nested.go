package redact

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// nested unquotes a string that is JSON, or contains lines of JSON, such as the body of a request,
// and hides the values with sensitive names in it. ok is false if it hides nothing. left is the
// number of bytes that remain for the output.
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

// mayName reports whether a string, given in its JSON form, may contain a quoted name whose value
// must be hidden.
func (l *Limits) mayName(body []byte) bool {
	return bytes.Contains(body, []byte(`\u0022`)) || l.mayNamePlainly(body) // .NET escapes quotation marks in this way
}

// mayNamePlainly is like mayName, but for a string without numeric escapes.
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
		name := bytes.TrimRight(behind[:end], `\`) // these backslashes belong to a more deeply nested string
		if is, sure := named(name); !sure || is || l.Hidden != nil && l.Hidden(string(name)) {
			return true
		}
		body = behind[end:] // the quotation mark that ends a name can begin the next one
	}
}
