package injected

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxNesting is how deep arrays and objects of a call may nest.
const maxNesting = 64

// loose reads what a model wrote as JSON, and writes it as JSON. It takes single and
// typographic quotes, quotes inside strings, names without quotes, commas too many and
// too few, brackets too few, comments, raw line breaks, and Python's literals. It
// looks at every byte a bounded number of times, and never back.
type loose struct {
	src   string
	pos   int
	out   []byte
	depth int
	// open is whether the text ended inside the value, and quoted whether that was
	// within a string. What has only brackets missing is read.
	open, quoted bool
}

// readLoose reads all of text as one value.
func readLoose(text string) (json.RawMessage, bool) {
	l := loose{src: text}
	ok := l.value()
	l.skip()
	return l.out, ok && !l.open && l.pos == len(text) && jsonrpc.Valid(l.out, jsonrpc.Limits{}) == nil
}

// at is the byte i from here; 0 behind the end.
func (l *loose) at(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// atEnd reports whether the text is over. The value is open then.
func (l *loose) atEnd() bool {
	l.open = l.open || l.pos >= len(l.src)
	return l.open
}

// blank is white space and comments.
var blank = regexp.MustCompile(`^(?:[ \t\r\n]+|//[^\n]*|#[^\n]*|/\*(?s:.*?)(?:\*/|$))+`)

func (l *loose) skip() { l.pos += len(blank.FindString(l.src[l.pos:])) }

// value reads one value. It reports false where there is none, or one so damaged that
// nobody knows where it ends.
func (l *loose) value() bool {
	l.skip()
	switch c := l.at(0); {
	case l.atEnd():
		return false
	case c == '{':
		return l.container('}', l.member)
	case c == '[':
		return l.container(']', l.value)
	case l.quote() != "":
		return l.text()
	}
	word := l.word()
	word = cmp.Or(literals[word], word)
	l.out = append(l.out, word...)
	return (l.depth == 0 || !l.atEnd()) && jsonrpc.Valid([]byte(word), jsonrpc.Limits{}) == nil
}

// container reads an array or an object, whose elements are read by element.
func (l *loose) container(end byte, element func() bool) bool {
	if l.depth++; l.depth > maxNesting {
		return false
	}
	l.out = append(l.out, l.at(0))
	l.pos++
	for first := true; ; first = false {
		for l.skip(); l.at(0) == ','; l.skip() {
			l.pos++
		}
		c := l.at(0)
		if c == end {
			l.pos++
		}
		if c == end || c == '}' || c == ']' || l.atEnd() { // one that is missing is added
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

func (l *loose) member() bool {
	if l.quote() != "" {
		if !l.text() {
			return false
		}
	} else {
		name := l.word()
		if name == "" {
			return false
		}
		l.out = jsonrpc.AppendString(l.out, name)
	}
	l.skip()
	if l.atEnd() || l.at(0) != ':' {
		return false
	}
	l.pos++
	l.out = append(l.out, ':')
	return l.value()
}

// bareWord is a name or a value without quotes.
var bareWord = regexp.MustCompile(`^[\w.+\-\x{80}-\x{10ffff}]{1,256}`)

func (l *loose) word() string {
	word := bareWord.FindString(l.src[l.pos:])
	l.pos += len(word)
	return word
}

var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

// closing are the marks that can close a string, by the one that opened it.
var closing = map[string]string{`"`: `"`, `'`: `'`, "“": "“”\"", "”": "“”\"", "‘": "‘’'", "’": "‘’'"}

// quote returns the quotation mark that stands here; "" if there is none.
func (l *loose) quote() string {
	size := 1
	if l.at(0) >= 0x80 {
		size = len("“")
	}
	if mark := l.src[l.pos:min(l.pos+size, len(l.src))]; closing[mark] != "" {
		return mark
	}
	return ""
}

// text reads a string. A quotation mark inside it ends it only if what follows can
// follow a string, because many models forget to escape.
func (l *loose) text() bool {
	opened := l.quote()
	l.pos += len(opened)
	b := []byte{'"'}
	for !l.atEnd() {
		c := l.at(0)
		mark := l.quote()
		switch {
		case c == '\\':
			b = l.escape(b)
			continue
		case mark != "" && strings.Contains(closing[opened], mark) && l.over(len(mark)):
			l.pos += len(mark)
			var text string
			if json.Unmarshal(append(b, '"'), &text) != nil {
				return false
			}
			l.out = jsonrpc.AppendString(l.out, text)
			return true
		case c == '"':
			b = append(b, `\"`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
		l.pos++
	}
	l.quoted = true
	return false
}

// afterString is what can follow a string: what separates values, a comment, the end of the text,
// or, on another line, the next string.
var afterString = regexp.MustCompile(`^(?:[ \t\r\n]*(?:$|[,:}\]#]|//|/\*)|[ \t\r]*\n[ \t\r\n]*["'“”‘’])`)

// over reports whether a string is over if n more bytes belong to it.
func (l *loose) over(n int) bool {
	rest := l.src[l.pos+n:]
	return afterString.MatchString(rest[:min(len(rest), 256)])
}

var escape = regexp.MustCompile(`^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})`)

// escape copies what a backslash begins; one that stands for nothing, as in a regular
// expression, is one.
func (l *loose) escape(b []byte) []byte {
	if e := escape.FindString(l.src[l.pos:]); e != "" {
		l.pos += len(e)
		return append(b, e...)
	}
	l.pos++
	if c := l.at(0); c == '\n' || c == '\'' {
		l.pos++
		return append(b, strings.Trim(string(c), "\n")...)
	}
	return append(b, `\\`...)
}

// isObject reports whether valid JSON is an object.
func isObject(raw []byte) bool { return bytes.HasPrefix(raw, []byte{'{'}) }
