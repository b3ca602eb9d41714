package schema

import "github.com/junction-mcp/junction/internal/jsonrpc"

// The functions in this file read well-formed JSON. If the text is malformed, they still return
// without a panic.

// kind is the JSON type of a value. Each type is a bit, so a kind can also be a set of types.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
	kindInteger // used only in schemas: a number without a fraction
)

// byteAt returns raw[i], or 0 if i is after the end.
func byteAt(raw []byte, i int) byte {
	if uint(i) < uint(len(raw)) {
		return raw[i]
	}
	return 0
}

// kindAt returns the type of the value that starts at raw[i], or 0 if there is none.
func kindAt(raw []byte, i int) kind {
	switch c := byteAt(raw, i); {
	case c == '"':
		return kindString
	case c == '{':
		return kindObject
	case c == '[':
		return kindArray
	case c == 't', c == 'f':
		return kindBoolean
	case c == 'n':
		return kindNull
	case c == '-', '0' <= c && c <= '9':
		return kindNumber
	default:
		return 0
	}
}

// member is a name and a value in an object.
type member struct {
	name  string // without quotes and escapes
	value []byte
}

// members returns the members of an object. ok is false if raw is not an object.
func members(raw []byte) (list []member, ok bool) {
	jsonrpc.EachMember(raw, func(name, value []byte) bool {
		list = append(list, member{unquote(name), value})
		return true
	})
	return list, kindAt(raw, 0) == kindObject
}

// elements returns the elements of an array. ok is false if raw is not an array.
func elements(raw []byte) (list [][]byte, ok bool) {
	jsonrpc.EachElement(raw, func(value []byte) bool {
		list = append(list, value)
		return true
	})
	return list, kindAt(raw, 0) == kindArray
}

func memberOf(raw []byte, name string) []byte { return jsonrpc.Get(raw, name) }

func appendQuoted(dst []byte, s string) []byte { return jsonrpc.AppendString(dst, s) }

func unquote(quoted []byte) string {
	text, _ := jsonrpc.Unquote(quoted)
	return text
}

// measure returns the maximum depth of nested objects and arrays, and the number of objects and
// booleans. In the text of a schema, each of these may be a schema.
func measure(raw []byte) (deepest, count int) {
	depth := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i, _ = jsonrpc.SkipValue(raw, i)
			continue
		case '{', '[':
			if depth++; raw[i] == '{' {
				count++
			}
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case 't', 'f':
			count++
		}
		i++
	}
	return deepest, count
}
