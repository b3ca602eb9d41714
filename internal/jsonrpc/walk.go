package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// SkipSpace returns the offset of the first byte of data at or after i that is not JSON white
// space, or len(data).
func SkipSpace(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// SkipValue returns the offset after the value that starts at i. data must be valid; otherwise the
// end is unspecified, but never beyond len(data). It reports false if there is no complete value.
func SkipValue(data []byte, i int) (end int, ok bool) {
	if i < 0 || i >= len(data) {
		return len(data), false
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipContainer(data, i)
	}
	start := i
	for i < len(data) && !endsScalar(data[i]) {
		i++
	}
	return i, i > start
}

func endsScalar(c byte) bool { return c == ',' || c == '}' || c == ']' || c == ':' || isSpace(c) }

// skipString jumps from quote to quote; an odd number of backslashes before one escapes it.
func skipString(data []byte, i int) (end int, ok bool) {
	start := i + 1
	for i = start; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data), false
		}
		i += n
		slashes := i
		for slashes > start && data[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i + 1, true
		}
	}
}

func skipContainer(data []byte, i int) (end int, ok bool) {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i, ok = skipString(data, i); !ok {
				return i, false
			}
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(data), false
}

// enter returns the offset of the first member or element of the object or array in data that
// begins with open, and whether there is one.
func enter(data []byte, open byte) (i int, ok bool) {
	i = SkipSpace(data, 0)
	if i >= len(data) || data[i] != open {
		return i, false
	}
	i = SkipSpace(data, i+1)
	return i, i < len(data) && data[i] != open+2
}

// next returns the offset of the member or element after the value that ends at i, and whether
// there is one.
func next(data []byte, i int) (int, bool) {
	i = SkipSpace(data, i)
	if i >= len(data) || data[i] != ',' {
		return i, false
	}
	return SkipSpace(data, i+1), true
}

// memberAt returns the ends and starts of the parts of the member at i.
func memberAt(obj []byte, i int) (nameEnd, value, end int, ok bool) {
	if i >= len(obj) || obj[i] != '"' {
		return 0, 0, 0, false
	}
	if nameEnd, ok = skipString(obj, i); !ok {
		return 0, 0, 0, false
	}
	value = SkipSpace(obj, nameEnd)
	if value >= len(obj) || obj[value] != ':' {
		return 0, 0, 0, false
	}
	value = SkipSpace(obj, value+1)
	end, ok = SkipValue(obj, value)
	return nameEnd, value, end, ok
}

// EachMember calls f with the name, in quotes and with its escapes, and the value of each member of
// obj in turn, until f returns false. The object must be valid; other values have no members.
func EachMember(obj []byte, f func(name, value []byte) bool) {
	for i, more := enter(obj, '{'); more; {
		nameEnd, value, end, ok := memberAt(obj, i)
		if !ok || !f(obj[i:nameEnd:nameEnd], obj[value:end:end]) {
			return
		}
		i, more = next(obj, end)
	}
}

// EachElement calls f with each element of arr in turn, until f returns false. The array must be
// valid; other values have no elements.
func EachElement(arr []byte, f func(value []byte) bool) {
	for i, more := enter(arr, '['); more; {
		end, ok := SkipValue(arr, i)
		if !ok || !f(arr[i:end:end]) {
			return
		}
		i, more = next(arr, end)
	}
}

// Get returns the value of one member of a valid object, or nil if it is absent or obj is not an
// object. Names are compared after unescaping.
func Get(obj []byte, name string) json.RawMessage {
	if len(obj) == 0 || obj[0] != '{' {
		return nil
	}
	var found json.RawMessage
	EachMember(obj, func(quoted, value []byte) bool {
		if sameName(quoted, name) {
			found = value
		}
		return found == nil
	})
	return found
}
