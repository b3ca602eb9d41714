package injected

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxNesting is how deep arrays and objects of a call may nest.
const maxNesting = 64

// loose reads what a model wrote as JSON, and writes it as JSON. It takes single
// and typographic quotes, quotes inside strings, names without quotes, commas
// too many and too few, comments, raw line breaks, and Python's literals. It
// looks at every byte a bounded number of times, and never back.
type loose struct {
	*source
	out   []byte
	depth int
	// open is whether the text ended inside the value, torn whether that was within
	// a string, a name or a number, so that nobody knows what it would have been.
	open, torn bool
	// patched is whether a brace was missing.
	patched bool
}

// readLoose reads all of text as one value.
func readLoose(text string) ([]byte, bool) {
	l := loose{source: &source{buf: []byte(text), ended: true}}
	l.skipFiller()
	if !l.value() {
		return nil, false
	}
	l.skipFiller()
	return l.out, !l.open && !l.patched && l.at(0) == none && jsonrpc.Valid(l.out, jsonrpc.Limits{}) == nil
}

// value reads one value. It reports false where there is none, or one so
// damaged that nobody knows where it ends.
func (l *loose) value() bool {
	l.skipFiller()
	switch c := l.at(0); {
	case c == none:
		l.open, l.torn = true, true
		return false
	case c == '{':
		return l.container('}', l.member)
	case c == '[':
		return l.container(']', l.value)
	}
	if l.quote(0) > 0 {
		text, ok := l.text()
		l.out = jsonrpc.AppendString(l.out, text)
		return ok
	}
	return l.bare()
}

// container reads an array or an object, whose elements are read by element.
func (l *loose) container(end byte, element func() bool) bool {
	if l.depth++; l.depth > maxNesting {
		return false
	}
	l.out = append(l.out, byte(l.at(0)))
	l.pos++
	for first := true; ; first = false {
		l.skipCommas()
		if l.closes(end) {
			l.depth--
			l.out = append(l.out, end)
			return true
		}
		if !first {
			l.out = append(l.out, ',')
		}
		if !element() {
			return false
		}
	}
}

// closes reports whether a container is over, and goes behind its bracket if it
// has one. Behind the end of the text and before what cannot be JSON it has none.
func (l *loose) closes(end byte) bool {
	switch c := l.at(0); c {
	case none:
		l.open = true
	case int(end):
		l.pos++
	case '}', ']', ')', '<', '`':
		l.patched = true
	default:
		return false
	}
	return true
}

func (l *loose) member() bool {
	if l.quote(0) > 0 {
		name, ok := l.text()
		if !ok {
			return false
		}
		l.out = jsonrpc.AppendString(l.out, name)
	} else {
		name := l.word(0)
		name, _, _ = strings.Cut(name, ":")
		if name == "" {
			return false
		}
		l.pos += len(name)
		l.out = jsonrpc.AppendString(l.out, name)
	}
	l.skipFiller()
	if c := l.at(0); c != ':' && c != '=' {
		l.open, l.torn = c == none, c == none
		return false
	}
	l.pos++
	l.skip(">")
	l.out = append(l.out, ':')
	return l.value()
}

// bare reads a literal, a number, or a string without quotes.
func (l *loose) bare() bool {
	n := 0
	for n < 256 && (isLetter(l.at(n)) || isDigit(l.at(n)) || l.at(n) == '.' || l.at(n) == '-' || l.at(n) == '+' || l.at(n) >= 0x80) {
		n++
	}
	if n == 0 {
		return false
	}
	token := string(l.buf[l.pos : l.pos+n])
	if word := literal(token); word != "" {
		l.pos += n
		l.out = append(l.out, word...)
		return true
	}
	if l.at(n) == none && l.depth > 0 {
		l.open, l.torn = true, true
		return false
	}
	if next := l.at(n + l.blank(n)); l.depth > 0 && next != ',' && next != '}' && next != ']' && next != ')' && next != '<' && next != '/' && next != '#' && l.at(n) != '\n' {
		return false
	}
	l.pos += n
	l.out = append(l.out, number(token)...)
	return true
}

// literal returns the JSON of a word that is no string; "" if token is none.
func literal(token string) string {
	switch token {
	case "true", "True", "TRUE":
		return "true"
	case "false", "False", "FALSE":
		return "false"
	case "null", "None", "NULL", "nil", "undefined", "NaN":
		return "null"
	}
	return ""
}

// number returns the JSON of a number as programming languages write them, or
// of the string that token is.
func number(token string) []byte {
	if c := token[0]; c == '-' || isDigit(int(c)) {
		if jsonrpc.Valid([]byte(token), jsonrpc.Limits{}) == nil {
			return []byte(token)
		}
	}
	plain, base := strings.ReplaceAll(strings.TrimPrefix(token, "+"), "_", ""), 10
	if digits, ok := strings.CutPrefix(plain, "0x"); ok {
		plain, base = digits, 16
	}
	if i, err := strconv.ParseInt(plain, base, 64); err == nil {
		return strconv.AppendInt(nil, i, 10)
	}
	if f, err := strconv.ParseFloat(plain, 64); err == nil && strings.ContainsAny(plain, "0123456789") {
		if text := strconv.AppendFloat(nil, f, 'g', -1, 64); jsonrpc.Valid(text, jsonrpc.Limits{}) == nil {
			return text
		}
	}
	return jsonrpc.AppendString(nil, token)
}

// skipFiller goes behind white space and comments.
func (l *loose) skipFiller() {
	for {
		l.skipBlank()
		switch {
		case l.has(0, "//") || l.at(0) == '#':
			for c := l.at(0); c != none && c != '\n'; c = l.at(0) {
				l.pos++
			}
		case l.has(0, "/*"):
			l.pos += 2
			for l.at(0) != none && !l.has(0, "*/") {
				l.pos++
			}
			l.skip("*/")
		default:
			return
		}
	}
}

func (l *loose) skipCommas() {
	for l.skipFiller(); l.at(0) == ','; l.skipFiller() {
		l.pos++
	}
}

// isObject reports whether valid JSON is an object.
func isObject(raw []byte) bool { return bytes.HasPrefix(raw, []byte{'{'}) }
