package edge

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// canonical returns JSON in one form for all that means the same: members in
// order, strings in their shortest form, no space, and numbers by their exact
// value. RFC 8785 would make a float64 of each number, and so integers beyond
// 2^53 equal that are not. What is no JSON is returned as it is.
func canonical(value []byte) []byte {
	v := jsontext.Value(bytes.Clone(value))
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return value
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		end := i + 1
		switch c := v[i]; {
		case c == '"':
			end = stringEnd(v, i)
		case c == '-' || '0' <= c && c <= '9':
			for end < len(v) && strings.IndexByte("+-.0123456789Ee", v[end]) >= 0 {
				end++
			}
			out = appendExact(out, string(v[i:end]))
			i = end
			continue
		}
		out = append(out, v[i:end]...)
		i = end
	}
	return out
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// appendExact appends a number as its digits, without zeros on either side, and
// an exponent: 1200, 1.2e3 and 12E2 become 12e2. A number whose exponent cannot
// be counted in an int64 stays as it is.
func appendExact(dst []byte, number string) []byte {
	digits, negative := strings.CutPrefix(number, "-")
	var exponent int64
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(digits[i+1:], 10, 62); err != nil {
			return append(dst, number...)
		}
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= int64(len(fraction))
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return append(dst, '0')
	}
	exponent += int64(len(digits))
	digits = strings.TrimRight(digits, "0")
	exponent -= int64(len(digits))
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, exponent, 10)
}
