package guard

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

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
			out = append(out, canonicalNumber(string(value[i:end]))...)
		}
		i = end
	}
	return out
}

// canonicalNumber writes a JSON number as digits without outer zeros and the
// power of ten they are multiplied with. An exponent that no int holds, or whose
// sum with the digits would not, stays as it is: then only equal spellings are equal.
func canonicalNumber(s string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	power := 0
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return s
		}
		power = int(n)
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	power -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	if power == 0 {
		return short
	}
	return short + "e" + strconv.Itoa(power)
}
