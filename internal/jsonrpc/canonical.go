package jsonrpc

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns raw in a canonical form: sorted members, no white space, strings with as few
// escapes as possible, and numbers as [Decimal] returns them. RFC 8785 is not used because it
// converts numbers to float64, which makes different large ids equal. Canonical reports false if
// raw is not valid JSON.
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
