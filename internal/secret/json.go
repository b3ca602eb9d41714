package secret

import (
	"encoding/json"
	"errors"
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
// names that are secrets by their looks or hold such a word, and what [URL] hides of URLs. In strings that are JSON the same is hidden. It is not whole where it would
// have more bytes than the limits say.
func JSON(data json.RawMessage, l Limits) (shown json.RawMessage, whole bool) {
	if len(data) == 0 {
		return nil, true
	}
	return AppendJSON(make([]byte, 0, min(len(data)+64, l.Bytes)), data, l)
}

// AppendJSON is [JSON], appended to dst.
func AppendJSON(dst []byte, data json.RawMessage, l Limits) (shown []byte, whole bool) {
	i := jsonrpc.SkipSpace(data, 0)
	if i == len(data) {
		return dst, true
	}
	if l.AsIs(data, nil) {
		return append(dst, data...), true
	}
	w := walk{Limits: &l, data: data, end: len(dst) + l.Bytes}
	dst, _, _ = w.value(dst, i, 0)
	return dst, len(dst) <= w.end
}

// AsIs reports whether [JSON] returns data as it is, which is so of most messages; it is not sure of all. Until it finds something
// to hide, it gives member the members of the outermost object, at depth 1, and of the objects in that, at depth 2: the name without
// its quotes, and data from the value on. member may be nil.
func (l *Limits) AsIs(data []byte, member func(depth int, name, rest []byte)) bool {
	if len(data) > l.Bytes || l.Hidden != nil {
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '{', '[':
			depth++
			if depth > l.Depth {
				return false
			}
		case '}', ']':
			depth--
		case '"':
			end, ok := jsonrpc.SkipValue(data, i)
			if !ok {
				return false
			}
			body := data[i+1 : end-1]
			if i = end - 1; end < len(data) && data[end] == ':' {
				if depth <= 2 && member != nil {
					member(depth, body, data[end+1:])
				}
				if ordinary(body) {
					continue
				}
				if is, sure := named(body); !sure || is && (l.Shown == nil || !l.Shown(string(body))) {
					return false
				}
			}
			if len(body) > l.Text || scan(body, true) != 0 || l.mayName(body) {
				return false
			}
		default:
			if c <= ' ' {
				return false
			}
		}
	}
	return depth == 0
}

// A walk goes through JSON once.
type walk struct {
	*Limits
	data []byte
	end  int // of what is written
}

// value appends the value at i, which is inside of so many objects and arrays, and returns where it ends. It is not ok where
// there is none.
func (w *walk) value(dst []byte, i, depth int) (_ []byte, end int, ok bool) {
	data := w.data
	if i >= len(data) {
		return dst, i, false
	}
	if c := data[i]; len(dst) <= w.end && depth <= w.Depth && (c == '{' || c == '[') {
		if c == '{' {
			return w.object(dst, i, depth)
		}
		return w.array(dst, i, depth)
	}
	if end, ok = jsonrpc.SkipValue(data, i); !ok {
		return dst, end, false
	}
	switch {
	case len(dst) > w.end:
		return append(dst, "null"...), end, true // it is left out as a whole
	case depth > w.Depth:
		return jsonrpc.AppendString(dst, Cut), end, true
	case data[i] == '"':
		if text, ok := w.nested(data[i:end], depth, w.end-len(dst)); ok {
			return jsonrpc.AppendString(dst, text), end, true
		}
		if w.keeps(data[i+1 : end-1]) {
			break
		}
		text, _ := jsonrpc.Unquote(data[i:end])
		return jsonrpc.AppendString(dst, Text(text, w.Text)), end, true
	}
	return append(dst, data[i:end]...), end, true
}

func (w *walk) object(dst []byte, i, depth int) (_ []byte, end int, ok bool) {
	out := jsonrpc.NewObject(dst)
	hidden := 0
	for i = jsonrpc.SkipSpace(w.data, i+1); i < len(w.data) && w.data[i] == '"'; i = jsonrpc.SkipSpace(w.data, i+1) {
		nameEnd, _ := jsonrpc.SkipValue(w.data, i)
		value := jsonrpc.SkipSpace(w.data, jsonrpc.SkipSpace(w.data, nameEnd)+1) // behind the colon
		if value >= len(w.data) {
			return out.Bytes(), value, true // it is not valid
		}
		name, hides := w.name(w.data[i:nameEnd], &hidden)
		err := out.EncodedQuoted(name, func(dst []byte) ([]byte, error) {
			if hides && w.data[value] != 't' && w.data[value] != 'f' && w.data[value] != 'n' {
				dst = jsonrpc.AppendString(dst, Hidden)
				i, ok = jsonrpc.SkipValue(w.data, value)
			} else {
				dst, i, ok = w.value(dst, value, depth+1)
			}
			return dst, orNone(ok)
		})
		if i = jsonrpc.SkipSpace(w.data, i); err != nil || i >= len(w.data) || w.data[i] != ',' {
			break
		}
	}
	return out.Bytes(), min(i+1, len(w.data)), true
}

// errNone says that there is no value where one should be.
var errNone = errors.New("expected a value")

func orNone(ok bool) error {
	if ok {
		return nil
	}
	return errNone
}

// name is what is shown of the name of a member, in quotes, and whether its value is hidden.
func (w *walk) name(quoted []byte, hidden *int) (shown []byte, hides bool) {
	plain := quoted[1 : len(quoted)-1]
	if ordinary(plain) {
		return quoted, false
	}
	if is, sure := named(plain); sure && !is && w.Hidden == nil && w.keeps(plain) {
		return quoted, false
	}
	name, _ := jsonrpc.Unquote(quoted)
	if shown := Text(name, w.Text); shown != name {
		*hidden++
		name = fmt.Sprintf("%s (%d)", shown, *hidden) // no two are the same
	}
	return jsonrpc.AppendString(nil, name), w.hides(name)
}

func (w *walk) array(dst []byte, i, depth int) (_ []byte, end int, ok bool) {
	out := jsonrpc.NewArray(dst)
	for i = jsonrpc.SkipSpace(w.data, i+1); i < len(w.data) && w.data[i] != ']'; i = jsonrpc.SkipSpace(w.data, i+1) {
		err := out.EncodedElement(func(dst []byte) ([]byte, error) {
			dst, i, ok = w.value(dst, i, depth+1)
			return dst, orNone(ok)
		})
		if i = jsonrpc.SkipSpace(w.data, i); err != nil || i >= len(w.data) || w.data[i] != ',' {
			break
		}
	}
	return out.Bytes(), min(i+1, len(w.data)), true
}

// hides reports whether the value of a member is a secret by its name.
func (l *Limits) hides(name string) bool {
	if Named(name) {
		return l.Shown == nil || !l.Shown(name)
	}
	return l.Hidden != nil && l.Hidden(name)
}

// ordinary reports whether a name is one that most messages have, so that there is nothing to find out of it.
func ordinary[T string | []byte](name T) bool {
	switch string(name) {
	case "jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "result", "content", "type", "text", "isError", "structuredContent", "resultType", "version",
		"description", "inputSchema", "properties", "title", "uri",
		"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities",
		"status", "url", "Accept", "Accept-Encoding", "Cache-Control", "Content-Length", "Content-Type", "Date", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "User-Agent":
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
	if scan(text, false)&suspect == 0 {
		return text
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
			hidden = urlsIn(word)
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
		return hideTokens(text)
	}
	shown.WriteString(rest)
	return hideTokens(shown.String())
}
