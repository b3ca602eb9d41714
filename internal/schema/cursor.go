package schema

import (
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file walk JSON text that is already known to be well
// formed. They check bounds all the same, so text that is not never panics
// and always ends the walk.

// kind is the JSON type of a value, as a bit of a typeSet.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
	kindInteger // only in schemas: a number without fraction
)

// byteAt is raw[i], or 0 behind the end.
func byteAt(raw []byte, i int) byte {
	if uint(i) < uint(len(raw)) {
		return raw[i]
	}
	return 0
}

func skipSpace(raw []byte, i int) int {
	for uint(i) < uint(len(raw)) {
		switch raw[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// kindAt tells the type of the value that starts at raw[i], or 0 for none.
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

// skipString returns the index behind the string that starts at raw[i], and
// whether it has escapes.
func skipString(raw []byte, i int) (end int, escaped bool) {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return len(raw), escaped
}

// skipScalar returns the index behind the number or literal at raw[i].
func skipScalar(raw []byte, i int) int {
	for ; i < len(raw); i++ {
		switch raw[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
	}
	return len(raw)
}

// skipValue returns the index behind the value that starts at raw[i].
func skipValue(raw []byte, i int) int {
	switch kindAt(raw, i) {
	case kindString:
		end, _ := skipString(raw, i)
		return end
	case kindObject, kindArray:
		return skipComposite(raw, i)
	default:
		return skipScalar(raw, i)
	}
}

func skipComposite(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i, _ = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(raw)
}

// member is one name and value of an object, as text.
type member struct {
	name, value []byte // name is unquoted
}

// members lists the members of the object at the start of raw; ok is false
// where raw is no object.
func members(raw []byte) (list []member, ok bool) {
	i := skipSpace(raw, 0)
	if byteAt(raw, i) != '{' {
		return nil, false
	}
	for i++; ; {
		i = skipSpace(raw, i)
		if byteAt(raw, i) != '"' {
			return list, true
		}
		end, escaped := skipString(raw, i)
		name := unquote(raw[i:end], escaped)
		i = skipSpace(raw, skipSpace(raw, end)+1)
		end = skipValue(raw, i)
		list = append(list, member{name, raw[min(i, end):end]})
		if i = skipSpace(raw, end); byteAt(raw, i) == ',' {
			i++
		}
	}
}

// elements lists the elements of the array at the start of raw.
func elements(raw []byte) (list [][]byte, ok bool) {
	i := skipSpace(raw, 0)
	if byteAt(raw, i) != '[' {
		return nil, false
	}
	for i++; ; {
		i = skipSpace(raw, i)
		if kindAt(raw, i) == 0 {
			return list, true
		}
		end := skipValue(raw, i)
		list = append(list, raw[i:end])
		if i = skipSpace(raw, end); byteAt(raw, i) == ',' {
			i++
		}
	}
}

// unquote returns the text of a quoted string; without escapes it is a slice
// of quoted.
func unquote(quoted []byte, escaped bool) []byte {
	if len(quoted) < 2 {
		return nil
	}
	body := quoted[1 : len(quoted)-1]
	if !escaped {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		if body[i] != '\\' || i+1 >= len(body) {
			out = append(out, body[i])
			i++
			continue
		}
		var n int
		out, n = appendEscape(out, body[i:])
		i += n
	}
	return out
}

// appendEscape appends what the escape at the start of s stands for, and
// returns the length of the escape.
func appendEscape(dst, s []byte) ([]byte, int) {
	switch s[1] {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r := hex4(s)
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(dst, r), min(6, len(s))
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(s[6:])); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
		return utf8.AppendRune(dst, utf8.RuneError), min(6, len(s))
	default:
		return append(dst, s[1]), 2
	}
}

// hex4 reads the four digits of a \u escape.
func hex4(s []byte) rune {
	if len(s) < 6 {
		return utf8.RuneError
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return utf8.RuneError
		}
	}
	return r
}
