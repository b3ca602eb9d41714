package secret

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Limits are those of what [JSON] returns.
type Limits struct {
	Text  int // characters of one string; what follows is cut
	Bytes int // in all
	Depth int // of objects and arrays in each other; what is nested deeper is cut
	// Shown, if not nil, says of which members with a sensitive name the value is none.
	Shown func(name string) bool
	// Hidden, if not nil, says of which other members the value is one.
	Hidden func(name string) bool
}

// Cut stands for the rest of a text, and for what is nested too deep.
const Cut = "…"

// JSON returns a valid JSON value without secrets: hidden are the members whose names are sensitive ([Named]), strings and
// names that are secrets by their looks or hold such a word, and what [URL] hides of URLs. It is not whole where it would
// have more bytes than the limits say.
func JSON(data json.RawMessage, l Limits) (shown json.RawMessage, whole bool) {
	if data = data[jsonrpc.SkipSpace(data, 0):]; len(data) == 0 {
		return nil, true
	}
	dst := l.append(make([]byte, 0, min(len(data)+64, l.Bytes)), data, 0)
	return dst, len(dst) <= l.Bytes
}

func (l *Limits) append(dst []byte, data json.RawMessage, depth int) []byte {
	switch {
	case len(dst) > l.Bytes:
		return append(dst, "null"...) // it is left out as a whole
	case depth > l.Depth:
		return jsonrpc.AppendString(dst, Cut)
	case data[0] == '{':
		w := jsonrpc.NewObject(dst)
		hidden := 0
		jsonrpc.EachMember(data, func(quoted, value []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			if ordinary(name) {
				_ = w.Encoded(name, func(dst []byte) ([]byte, error) { return l.append(dst, value, depth+1), nil })
				return true
			}
			if shown := Text(name, l.Text); shown != name {
				hidden++
				name = fmt.Sprintf("%s (%d)", shown, hidden) // no two are the same
			}
			if l.hides(name) && value[0] != 't' && value[0] != 'f' && value[0] != 'n' {
				w.String(name, Hidden)
				return true
			}
			_ = w.Encoded(name, func(dst []byte) ([]byte, error) { return l.append(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '[':
		w := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(data, func(value []byte) bool {
			_ = w.EncodedElement(func(dst []byte) ([]byte, error) { return l.append(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '"':
		text, _ := jsonrpc.Unquote(data)
		return jsonrpc.AppendString(dst, Text(text, l.Text))
	}
	return append(dst, data...)
}

// hides reports whether the value of a member is a secret by its name.
func (l *Limits) hides(name string) bool {
	if Named(name) {
		return l.Shown == nil || !l.Shown(name)
	}
	return l.Hidden != nil && l.Hidden(name)
}

// ordinary reports whether a name is one that most messages have, so that there is nothing to find out of it.
func ordinary(name string) bool {
	switch name {
	case "jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "result", "content", "type", "text", "isError", "structuredContent", "resultType", "version",
		"description", "inputSchema", "properties", "title", "uri":
		return true
	}
	return false
}

// Text returns at most so many characters of a text, without secrets.
func Text(text string, most int) string {
	if runes := 0; len(text) > most {
		for i := range text {
			if runes++; runes > most {
				text = text[:i] + Cut
				break
			}
		}
	}
	if Looks(text) {
		return Hidden
	}
	var shown strings.Builder // with what was hidden in URLs
	rest := text
	for word := range strings.FieldsSeq(text) {
		hidden := ""
		switch {
		case Looks(word):
			return Hidden
		case strings.Contains(word, "://"):
			hidden = URL(word)
		case strings.Contains(word, "@") && (strings.Contains(word, "//") || strings.Contains(word, `\/\/`)): // a URL without a scheme, or as JSON may write it
			hidden = Hidden
		default:
			continue
		}
		before, after, _ := strings.Cut(rest, word)
		shown.WriteString(before + hidden)
		rest = after
	}
	if shown.Len() == 0 {
		return text
	}
	shown.WriteString(rest)
	return shown.String()
}
