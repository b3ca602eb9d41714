package guard

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// canonical returns JSON in the one form that all its spellings share: members
// sorted, no white space, strings with the fewest escapes, numbers as an exact
// decimal. Numbers are not rounded, as RFC 8785 would: two large ids that are
// equal as float64 are not the same id. What is not JSON is returned behind a
// byte that no JSON starts with.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return append([]byte{0}, raw...)
	}
	value := sorted(raw)
	if value == nil {
		return append([]byte{0}, raw...)
	}
	return canonicalNumbers(value)
}

// sorted returns valid JSON with its members sorted, without white space and
// needless escapes; nil if that cannot be done.
func sorted(raw json.RawMessage) jsontext.Value {
	value := jsontext.Value(bytes.Clone(raw))
	if value.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)) != nil {
		return nil
	}
	return value
}

// canonicalNumbers rewrites the numbers of compact JSON.
func canonicalNumbers(value []byte) []byte {
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); {
		c := value[i]
		if c != '"' && c != '-' && (c < '0' || c > '9') {
			out = append(out, c)
			i++
			continue
		}
		end, _ := jsonrpc.SkipValue(value, i)
		if c == '"' {
			out = append(out, value[i:end]...)
		} else {
			out = append(out, jsonrpc.Decimal(string(value[i:end]))...)
		}
		i = end
	}
	return out
}
