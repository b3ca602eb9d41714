// Package paramheader copies parts of a request into HTTP headers, and checks that the headers
// agree with the request (2026-07-28 basic/transports/streamable-http, request metadata). It
// handles the values of Mcp-Name and Mcp-Param-*. The arguments to copy are marked with
// x-mcp-header in a tool's schema.
package paramheader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/textproto"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Prefix is the prefix of the canonical names of all headers that contain an argument.
const Prefix = "Mcp-Param-"

// Annotation is the member of a property's schema that contains the name of its header.
const Annotation = "x-mcp-header"

const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="

	maxDepth   = 32
	maxInteger = 1<<53 - 1
)

// A Field is an argument that HTTP clients copy into a header.
type Field struct {
	Path   []string // names of members, from the arguments object down
	Header string   // canonical name of the header, including the prefix
	Kind   string   // "string", "integer" or "boolean"
}

// Fields returns the annotated arguments of a tool's input schema. If an annotation is invalid, the
// tool is invalid too, and the error contains the reason.
func Fields(schema json.RawMessage) ([]Field, error) {
	if !Mentions(schema) {
		return nil, nil
	}
	f := finder{seen: map[string]string{}}
	f.properties(schema, nil)
	if f.err == nil && f.reached != countAnnotations(schema, 0) {
		f.err = fmt.Errorf("%s is not allowed here: only properties that are reached through \"properties\" alone can have one", Annotation)
	}
	return f.fields, f.err
}

// Mentions reports whether the JSON may contain an annotation. It reports false for nearly all
// tools. It reports true for text with numeric escapes, as these could spell the name of the
// annotation.
func Mentions(text json.RawMessage) bool {
	return bytes.Contains(text, []byte(Annotation)) || bytes.Contains(text, []byte(`\u`))
}

type finder struct {
	fields  []Field
	seen    map[string]string
	reached int
	err     error
}

func (f *finder) properties(schema []byte, path []string) {
	if len(path) > maxDepth {
		f.err = fmt.Errorf("%s: properties nested deeper than %d", Annotation, maxDepth)
		return
	}
	jsonrpc.EachMember(object(jsonrpc.Get(schema, "properties")), func(quoted, property []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		at := append(path[:len(path):len(path)], name)
		if raw := jsonrpc.Get(property, Annotation); raw != nil {
			f.add(at, property, raw)
		}
		if f.err == nil {
			f.properties(object(property), at)
		}
		return f.err == nil
	})
}

func (f *finder) add(path []string, property, raw []byte) {
	f.reached++
	where := strings.Join(path, ".")
	token, ok := jsonrpc.Unquote(raw)
	other, taken := f.seen[strings.ToLower(token)] // the property's name may be empty
	switch {
	case !ok || !isToken(token):
		f.err = fmt.Errorf("%s of %s: expected a header token of letters, digits and !#$%%&'*+-.^_`|~, got %.80s", Annotation, where, raw)
		return
	case taken:
		f.err = fmt.Errorf("%s %q occurs at both %q and %q (the case of letters does not count)", Annotation, token, other, where)
		return
	}
	kind, _ := jsonrpc.Unquote(jsonrpc.Get(property, "type"))
	if kind != "string" && kind != "integer" && kind != "boolean" {
		f.err = fmt.Errorf("%s of %s: only string, integer and boolean can be sent in a header, not %.40s", Annotation, where, jsonrpc.Get(property, "type"))
		return
	}
	f.seen[strings.ToLower(token)] = where
	f.fields = append(f.fields, Field{Path: path, Header: textproto.CanonicalMIMEHeaderKey(Prefix + token), Kind: kind})
}

// countAnnotations counts the annotations anywhere in a schema, so that annotations in forbidden
// places are noticed. The members of "properties" are names of properties, so a property called
// x-mcp-header does not count.
func countAnnotations(schema []byte, depth int) int {
	if depth > maxDepth*2 || len(schema) == 0 {
		return 0
	}
	n := 0
	switch schema[0] {
	case '[':
		jsonrpc.EachElement(schema, func(v []byte) bool { n += countAnnotations(v, depth+1); return true })
	case '{':
		jsonrpc.EachMember(schema, func(quoted, v []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			switch name {
			case Annotation:
				n++
			case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
				jsonrpc.EachMember(object(v), func(_, s []byte) bool { n += countAnnotations(s, depth+1); return true })
			case "default", "const", "enum", "examples", "dependentRequired":
			default:
				n += countAnnotations(v, depth+1)
			}
			return true
		})
	}
	return n
}

// Value returns the argument as text. It reports false if the argument is absent or null.
func (f *Field) Value(arguments json.RawMessage) (string, bool, error) {
	v := []byte(arguments)
	for _, name := range f.Path {
		if v = jsonrpc.Get(v, name); v == nil {
			return "", false, nil
		}
	}
	switch {
	case string(v) == "null":
		return "", false, nil
	case v[0] == '"':
		s, _ := jsonrpc.Unquote(v)
		return s, true, nil
	case v[0] == 't', v[0] == 'f':
		return string(v), true, nil
	case v[0] == '{', v[0] == '[':
		return "", false, fmt.Errorf("%s: expected %s, got %.40s", strings.Join(f.Path, "."), f.Kind, v)
	}
	if f.Kind != "integer" {
		return string(v), true, nil // if the type is wrong, validation against the tool's schema reports it
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxInteger {
		return "", false, fmt.Errorf("%s: expected an integer of at most 53 bits, got %.40s", strings.Join(f.Path, "."), v)
	}
	return strconv.FormatInt(int64(n), 10), true, nil
}

// Check compares the arguments of a request with its headers.
func Check(fields []Field, arguments json.RawMessage, headers map[string][]string) error {
	for i := range fields {
		if err := fields[i].check(arguments, headers[fields[i].Header]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Field) check(arguments json.RawMessage, header []string) error {
	want, present, err := f.Value(arguments)
	switch {
	case err != nil:
		return err
	case !present && len(header) == 0:
		return nil
	case !present:
		return fmt.Errorf("header %s is there, but the argument %s is not", f.Header, strings.Join(f.Path, "."))
	case len(header) == 0:
		return fmt.Errorf("header %s is missing; it must repeat the argument %s", f.Header, strings.Join(f.Path, "."))
	case len(header) > 1:
		return fmt.Errorf("header %s occurs %d times", f.Header, len(header))
	}
	got, err := Decode(header[0])
	if err != nil {
		return fmt.Errorf("header %s: %w", f.Header, err)
	}
	if got == want || f.Kind == "integer" && sameInteger(got, want) {
		return nil
	}
	return fmt.Errorf("header %s differs from the argument %s", f.Header, strings.Join(f.Path, "."))
}

func sameInteger(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// Encode returns the header value that represents text.
func Encode(text string) string {
	if isPlain(text) && !(strings.HasPrefix(text, sentinelStart) && strings.HasSuffix(text, sentinelEnd)) {
		return text
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelEnd
}

// Decode returns the text that value represents.
func Decode(value string) (string, error) {
	value = strings.Trim(value, " \t")
	for i := 0; i < len(value); i++ {
		if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
			return "", fmt.Errorf("character %#x must be base64-encoded", c)
		}
	}
	inner, ok := strings.CutPrefix(value, sentinelStart)
	if ok && strings.HasSuffix(inner, sentinelEnd) {
		text, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, sentinelEnd))
		switch {
		case err != nil:
			return "", errors.New("the value between =?base64? and ?= is not base64")
		case !utf8.Valid(text):
			return "", errors.New("the value between =?base64? and ?= is not UTF-8")
		}
		return string(text), nil
	}
	return value, nil
}

// isPlain reports whether text can be used as a header value without encoding.
func isPlain(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return text == strings.Trim(text, " \t")
}

func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

func object(v []byte) []byte {
	if len(v) == 0 || v[0] != '{' {
		return []byte(`{}`)
	}
	return v
}
