package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Limits limits the result of [JSON].
type Limits struct {
	Text  int // maximum number of characters of a string; longer strings are cut
	Bytes int // maximum size of the result
	Depth int // maximum depth of nested objects and arrays; deeper values are cut
	// Shown, if not nil, reports whether a member with a sensitive name contains no secret.
	Shown func(name string) bool
	// Hidden, if not nil, reports whether a member with another name contains a secret.
	Hidden func(name string) bool
}

// Cut replaces the end of a text that is too long, and values that are nested too deeply.
const Cut = "…"

// JSON returns a valid JSON value without secrets. It hides the values of members with sensitive
// names ([Named]), and strings and names that are or contain apparent secrets. In URLs it hides the
// parts that [URL] hides. Strings that contain JSON are processed in the same way. whole is false
// if the result would exceed l.Bytes.
func JSON(data json.RawMessage, l Limits) (shown json.RawMessage, whole bool) {
	if len(data) == 0 {
		return nil, true
	}
	return AppendJSON(make([]byte, 0, min(len(data)+64, l.Bytes)), data, l)
}

// AppendJSON is like [JSON], but appends the result to dst.
func AppendJSON(dst []byte, data json.RawMessage, l Limits) (shown []byte, whole bool) {
	i := jsonrpc.SkipSpace(data, 0)
	if i == len(data) {
		return dst, true
	}
	if l.AsIs(data, nil) {
		return append(dst, data...), true
	}
	return l.walk(dst, data[i:])
}

// walk is a function of its own because it causes l to be allocated on the heap.
func (l Limits) walk(dst []byte, data json.RawMessage) (shown []byte, whole bool) {
	s := &display{Limits: &l, end: len(dst) + l.Bytes}
	dst, _ = Walk{Rewriter: s}.append(dst, data, Place{})
	return dst, len(dst) <= s.end
}

// AsIs reports whether [JSON] would return data unchanged, which is the case for most messages. It
// sometimes reports false for data that JSON would not change. AsIs calls member, unless it is nil,
// for members of the outermost object (depth 1) and of the objects in it (depth 2), until it finds
// something to hide. name is without quotes, and rest is the data from the member's value on.
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
			if len(body) > l.Text || scan(body, rawNamed) != 0 || bytes.IndexByte(body, '\\') >= 0 && l.mayNamePlainly(body) {
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

// A display is the [Rewriter] that hides secrets for display.
type display struct {
	*Limits
	end int // maximum length of the output
}

// Name implements [Rewriter].
func (s *display) Name(dst, quoted []byte, p *Place) ([]byte, bool) {
	body := quoted[1 : len(quoted)-1]
	p.Name = ""
	if ordinary(body) {
		return append(dst, quoted...), false
	}
	if is, sure := named(body); sure && !is && s.Hidden == nil && s.keeps(body) {
		return append(dst, quoted...), false
	}
	name, _ := jsonrpc.Unquote(quoted)
	shown := Text(name, s.Text)
	replaced := shown != name
	if replaced {
		p.Renamed++
		name = fmt.Sprintf("%s (%d)", shown, p.Renamed) // unique
	}
	if s.hides(name) {
		p.Name = name
	}
	return jsonrpc.AppendString(dst, name), replaced
}

// Value implements [Rewriter]. If p.Name is not empty, the value is a secret because of its name.
func (s *display) Value(dst, raw []byte, p *Place) ([]byte, bool) {
	switch {
	case p.Name != "" && raw[0] != 't' && raw[0] != 'f' && raw[0] != 'n':
		return jsonrpc.AppendString(dst, Hidden), true
	case len(dst) > s.end:
		return append(dst, "null"...), true // the caller drops the whole result
	case p.Depth > s.Depth:
		return jsonrpc.AppendString(dst, Cut), true
	case raw[0] != '"':
		return dst, false
	}
	if text, ok := s.nested(raw, p.Depth, s.end-len(dst)); ok {
		return jsonrpc.AppendString(dst, text), true
	}
	if s.keeps(raw[1 : len(raw)-1]) {
		return dst, false
	}
	text, _ := jsonrpc.Unquote(raw)
	return jsonrpc.AppendString(dst, Text(text, s.Text)), true
}

// hides reports whether a member with this name contains a secret, whatever its value.
func (l *Limits) hides(name string) bool {
	if Named(name) {
		return l.Shown == nil || !l.Shown(name)
	}
	return l.Hidden != nil && l.Hidden(name)
}

// ordinary reports whether a name is so common in messages that it needs no further check.
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

// Text returns a text without secrets, cut to at most most characters.
func Text(text string, most int) string {
	if runes := 0; len(text) > most {
		for i := range text {
			if runes++; runes > most {
				text = text[:i] + Cut
				break
			}
		}
	}
	if scan(text, plain)&suspect == 0 {
		return text
	}
	if Looks(text) {
		return Hidden
	}
	var shown strings.Builder // the result, in which secrets in URLs are hidden
	rest := text
	for word := range strings.FieldsSeq(text) {
		hidden := ""
		switch {
		case Looks(word):
			return Hidden
		case strings.Contains(word, "://"):
			hidden = urlsIn(word)
		case strings.Contains(word, "@") && (strings.Contains(word, "//") || strings.Contains(word, `\/\/`)): // a URL without a scheme, or in JSON with escaped slashes
			hidden = Hidden
		default:
			continue
		}
		before, after, _ := strings.Cut(rest, word)
		shown.WriteString(before + hidden)
		rest = after
	}
	if shown.Len() == 0 {
		return hideFound(text, Hidden)
	}
	shown.WriteString(rest)
	return hideFound(shown.String(), Hidden)
}
