package redact

import (
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/pointer"
	"github.com/junction-mcp/junction/internal/secret"
)

// Paths are places in JSON. They do not change, and the zero value has none.
type Paths struct{ parts [][]string }

// Parse reads paths: each is a JSON Pointer (RFC 6901) in which a part * stands for every member of an object
// or element of an array, such as /user/email or /items/*/price. The error names the path.
func Parse(paths ...string) (Paths, error) {
	var p Paths
	for _, path := range paths {
		parts, err := pointer.Split(path)
		if err != nil {
			return Paths{}, err
		}
		p.parts = append(p.parts, parts)
	}
	return p, nil
}

// None reports whether there are no paths.
func (p Paths) None() bool { return len(p.parts) == 0 }

// Hide returns data, one JSON value, with the text *** in every place; data itself where it has none of them.
// It does not change data.
func (p Paths) Hide(data json.RawMessage) json.RawMessage {
	if p.None() || len(data) == 0 {
		return data
	}
	hidden, _ := hide(data, p.parts)
	return hidden
}

// hide is data without what is at the paths; changed says that there was something.
func hide(data json.RawMessage, paths [][]string) (_ json.RawMessage, changed bool) {
	at := func(name string, value json.RawMessage) json.RawMessage {
		deeper, whole := below(paths, name)
		if whole {
			changed = true
			return jsonrpc.AppendString(nil, secret.Hidden)
		}
		if len(deeper) > 0 {
			found := false
			value, found = hide(value, deeper)
			changed = changed || found
		}
		return value
	}
	var w jsonrpc.Writer
	switch data[0] {
	case '{':
		w = jsonrpc.NewObject(make([]byte, 0, len(data)))
		jsonrpc.EachMember(data, func(quoted, value []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			w.Raw(name, at(name, value))
			return true
		})
	case '[':
		w = jsonrpc.NewArray(make([]byte, 0, len(data)))
		i := 0
		jsonrpc.EachElement(data, func(value []byte) bool {
			w.Element(at(strconv.Itoa(i), value))
			i++
			return true
		})
	}
	if !changed {
		return data, false
	}
	return w.Bytes(), true
}

// below are the paths from a member on; whole says that one ends with it.
func below(paths [][]string, name string) (deeper [][]string, whole bool) {
	for _, path := range paths {
		switch {
		case path[0] != "*" && path[0] != name:
		case len(path) == 1:
			return nil, true
		default:
			deeper = append(deeper, path[1:])
		}
	}
	return deeper, false
}
