package redact

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/redact"
)

// Paths are places in JSON. They do not change, and the zero value has none.
type Paths struct{ parts redact.Paths }

// Parse reads paths: each is a JSON Pointer (RFC 6901) in which a part * stands for every member of an object
// or element of an array, such as /user/email or /items/*/price. The error names the path.
func Parse(paths ...string) (Paths, error) {
	parts, err := redact.ParsePaths(paths...)
	return Paths{parts}, err
}

// None reports whether there are no paths.
func (p Paths) None() bool { return len(p.parts) == 0 }

// Hide returns data, one JSON value, with the text *** in every place; data itself where it has none of them.
// A path leads on into a string that is JSON. Hide does not change data.
func (p Paths) Hide(data json.RawMessage) json.RawMessage {
	if p.None() || len(data) == 0 {
		return data
	}
	return p.parts.Hide(data, nil)
}
