package redact

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/redact"
)

// Paths are places in JSON. They do not change, and the zero value has none.
type Paths struct{ parts redact.Paths }

// Parse parses paths, such as /user/email or /items/*/price. Each is a JSON Pointer (RFC 6901) in
// which a part * matches every member of an object or element of an array. The error names the
// path.
func Parse(paths ...string) (Paths, error) {
	parts, err := redact.ParsePaths(paths...)
	return Paths{parts}, err
}

// None reports whether there are no paths.
func (p Paths) None() bool { return len(p.parts) == 0 }

// Hide returns data, one JSON value, with the text *** in every place. It returns data itself if no
// place is in it. A path continues into a string that is JSON. Hide does not change data.
func (p Paths) Hide(data json.RawMessage) json.RawMessage {
	if p.None() || len(data) == 0 {
		return data
	}
	return p.parts.Hide(data, nil)
}
