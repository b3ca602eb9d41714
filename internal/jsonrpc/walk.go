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

// SkipValue returns the offset after the value that starts at i. It reports false if the value is
// incomplete. data must be valid JSON; otherwise end is unspecified, but at most len(data).
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

// skipString searches for the closing quote. A quote after an odd number of backslashes is escaped.
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

// enter returns the offset of the first member or element of the object or array in data, and
// whether there is one. open is its opening bracket.
func enter(data []byte, open byte) (i int, ok bool) {
	i = SkipSpace(data, 0)
	if i >= len(data) || data[i] != open {
		return i, false
	}
	i = SkipSpace(data, i+1)
	return i, i < len(data) && data[i] != open+2
}

// next returns the offset of the next member or element, and whether there is one. i is the end of
// the previous value.
func next(data []byte, i int) (int, bool) {
	i = SkipSpace(data, i)
	if i >= len(data) || data[i] != ',' {
		return i, false
	}
	return SkipSpace(data, i+1), true
}

// memberAt returns the offsets of the parts of the member at i: the end of its name, and the start
// and the end of its value.
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

// EachMember calls f for each member of obj in order, until f returns false. name has its quotes
// and escapes. obj must be valid JSON. If it is not an object, EachMember does nothing.
func EachMember(obj []byte, f func(name, value []byte) bool) {
	for i, more := enter(obj, '{'); more; {
		nameEnd, value, end, ok := memberAt(obj, i)
		if !ok || !f(obj[i:nameEnd:nameEnd], obj[value:end:end]) {
			return
		}
		i, more = next(obj, end)
	}
}

// EachElement calls f for each element of arr in order, until f returns false. arr must be valid
// JSON. If it is not an array, EachElement does nothing.
func EachElement(arr []byte, f func(value []byte) bool) {
	for i, more := enter(arr, '['); more; {
		end, ok := SkipValue(arr, i)
		if !ok || !f(arr[i:end:end]) {
			return
		}
		i, more = next(arr, end)
	}
}

// Get returns the value of a member of a valid object. It returns nil if the member is absent or
// obj is not an object. Names are compared after unescaping.
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
