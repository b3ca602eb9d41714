package replay

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// expandText computes the expressions of a text.
func expandText(s string, results []string) (string, error) {
	value, err := expandString(s, results)
	return plain(value), err
}

// expandString is expandText for a string in arguments: one that is nothing but
// an expression becomes the expression's value.
func expandString(s string, results []string) (json.RawMessage, error) {
	pieces, err := parts(s)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, p := range pieces {
		if !p.expression {
			b.WriteString(p.text)
			continue
		}
		value, err := compute(p.text, results)
		if err != nil || len(pieces) == 1 {
			return value, err
		}
		b.WriteString(plain(value))
	}
	return jsonrpc.AppendString(nil, b.String()), nil
}

// expand computes the expressions in the strings of a value.
func expand(raw json.RawMessage, results []string) (json.RawMessage, error) {
	var failed error
	inner := func(value []byte) json.RawMessage {
		out, err := expand(value, results)
		failed = errors.Join(failed, err)
		return out
	}
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}"), nil
	case raw[0] == '"':
		return expandString(plain(raw), results)
	case raw[0] == '{':
		out := []byte{'{'}
		jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, quoted...), ':'), inner(value)...)
			return true
		})
		return append(out, '}'), failed
	case raw[0] == '[':
		out := []byte{'['}
		jsonrpc.EachElement(raw, func(value []byte) bool {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, inner(value)...)
			return true
		})
		return append(out, ']'), failed
	}
	return raw, nil
}

// eachString calls f with every string value of an object; nil has none.
func eachString(raw json.RawMessage, f func(string)) error {
	if raw == nil {
		return nil
	}
	if _, fault := jsonrpc.Index(raw, jsonrpc.Limits{}); fault != nil {
		return errors.New("the arguments are no object: " + fault.Message)
	}
	var walk func(value []byte) bool
	walk = func(value []byte) bool {
		if text, ok := jsonrpc.Unquote(value); ok {
			f(text)
		}
		jsonrpc.EachMember(value, func(_, inner []byte) bool { return walk(inner) })
		jsonrpc.EachElement(value, walk)
		return true
	}
	walk(raw)
	return nil
}
