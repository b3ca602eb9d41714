package redact

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/redact"
)

// Paths are places in JSON values. They are immutable; the zero value contains no path.
type Paths struct{ parts redact.Paths }

// Parse parses paths, such as /user/email or /items/*/price. Each path is a JSON Pointer (RFC 6901)
// in which the part * matches every member of an object and every element of an array. The error
// names the invalid path.
func Parse(paths ...string) (Paths, error) {
	parts, err := redact.ParsePaths(paths...)
	return Paths{parts}, err
}

// None reports whether there are no paths.
func (p Paths) None() bool { return len(p.parts) == 0 }

// Hide returns a copy of data, one JSON value, with the text *** in each place. It returns data
// itself if data has none of the places. A path also leads into a string that contains JSON.
func (p Paths) Hide(data json.RawMessage) json.RawMessage {
	if p.None() || len(data) == 0 {
		return data
	}
	return p.parts.Hide(data, nil)
}
