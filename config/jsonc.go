package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	// maxFileSize limits a configuration file, in bytes.
	maxFileSize = 4 << 20
	// maxDepth limits the nesting of values. The parser is recursive, and a Go program cannot
	// recover from a stack overflow.
	maxDepth = 100
	// maxValues limits the members and elements of a file, because each takes about 100 bytes in
	// the syntax tree.
	maxValues = 250_000
)

// document is a parsed JSON file that may have comments. Its method line finds the line of an
// offset.
type document struct {
	data []byte
	root hujson.Value

	// lastOffset is the last requested offset, and lastLine its line. Counting continues from
	// there, because files are read from front to back. Counting from the start for each entry
	// would take quadratic time.
	lastOffset, lastLine int
}

// member is a name and a value of an object.
type member struct {
	name  string
	value hujson.Value
	at    int // offset of the name in the file
}

func parseDocument(data []byte) (*document, error) {
	if len(data) > maxFileSize {
		return nil, caused(ErrLimit, "the file is larger than %d MiB", maxFileSize>>20)
	}
	// Editors on Windows put a byte order mark at the start of a file.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New(`the file is empty; expected {"mcpServers": {NAME: {…}}}`)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8; save it in that encoding")
	}
	if err := checkShape(data); err != nil {
		return nil, err
	}
	root, err := hujson.Parse(data)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "hujson: ")
		if before, _, found := strings.Cut(text, "invalid literal: "); found { // the literal can be a secret
			text = before + "invalid string, number or word"
		}
		return nil, fmt.Errorf("not JSON: %s", text)
	}
	if root.Value.Kind() != '{' {
		return nil, wrongType("an object", root)
	}
	return &document{data: data, root: root, lastLine: 1}, nil
}

// checkShape returns an error for files whose parsing would take too much stack or memory.
func checkShape(data []byte) error {
	depth, values := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '/':
			i = endOfComment(data, i)
		case '{', '[':
			depth++
			values++
		case '}', ']':
			depth = max(depth-1, 0)
		case ',', ':':
			values++
		}
		if depth > maxDepth {
			return caused(ErrLimit, "line %d: nested deeper than %d levels", lineAt(data, i), maxDepth)
		}
		if values > maxValues {
			return caused(ErrLimit, "line %d: more than %d values", lineAt(data, i), maxValues)
		}
	}
	return nil
}

// endOfString returns the offset of the closing quote of the string at start, or len(data).
func endOfString(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}

// endOfComment returns the offset of the last byte of the comment at start, or start if there is no
// comment.
func endOfComment(data []byte, start int) int {
	rest := data[start:]
	end, marker := 0, ""
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end, marker = bytes.IndexByte(rest, '\n'), "\n"
	case bytes.HasPrefix(rest, []byte("/*")):
		end, marker = bytes.Index(rest[2:], []byte("*/"))+2, "*/"
		if end < 2 {
			end = -1
		}
	default:
		return start
	}
	if end < 0 {
		return len(data)
	}
	return start + end + len(marker) - 1
}

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
}

// line returns the line of an offset, from 1.
func (d *document) line(offset int) int {
	if offset < d.lastOffset {
		return lineAt(d.data, offset)
	}
	d.lastLine += bytes.Count(d.data[d.lastOffset:offset], []byte("\n"))
	d.lastOffset = offset
	return d.lastLine
}

// members returns the members of an object in file order. It returns nil if v is not an object.
func members(v hujson.Value) []member {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	list := make([]member, 0, len(object.Members))
	for _, m := range object.Members {
		list = append(list, member{m.Name.Value.(hujson.Literal).String(), m.Value, m.Name.StartOffset})
	}
	return list
}

// lookup returns the value of an object's member, or the zero Value if it is missing.
func lookup(object hujson.Value, name string) hujson.Value {
	for _, m := range members(object) {
		if m.name == name {
			return m.value
		}
	}
	return hujson.Value{}
}

// duplicate returns the first two members with the same name, or nil if all names differ.
func duplicate(list []member) (first, second *member) {
	seen := make(map[string]*member, len(list))
	for i := range list {
		m := &list[i]
		if before, ok := seen[m.name]; ok {
			return before, m
		}
		seen[m.name] = m
	}
	return nil, nil
}

func text(v hujson.Value) (string, bool) {
	if v.Value.Kind() != '"' {
		return "", false
	}
	return v.Value.(hujson.Literal).String(), true
}

func wrongType(expected string, v hujson.Value) error {
	return fmt.Errorf("expected %s, got %s", expected, kindName(v))
}

func kindName(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}
