package jsonrpc

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns JSON in canonical form: members in order, no white space, strings with the
// fewest escapes, and numbers by [Decimal]. RFC 8785 would convert each number to a float64 and
// make different large ids equal. It reports false if raw is not JSON.
func Canonical(raw []byte) ([]byte, bool) {
	v := jsontext.Value(bytes.Clone(raw))
	if v.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)) != nil {
		return nil, false
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		c, end := v[i], i+1
		switch {
		case c == '"':
			end, _ = SkipValue(v, i)
			out = append(out, v[i:end]...)
		case c == '-' || c >= '0' && c <= '9':
			end, _ = SkipValue(v, i)
			out = append(out, Decimal(string(v[i:end]))...)
		default:
			out = append(out, c)
		}
		i = end
	}
	return out, true
}
