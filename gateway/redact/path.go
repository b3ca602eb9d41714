package redact

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/pointer"
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
// A path leads on into a string that is JSON. Hide does not change data.
func (p Paths) Hide(data json.RawMessage) json.RawMessage {
	if p.None() || len(data) == 0 {
		return data
	}
	return new(hiding).in(data, p.parts)
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
