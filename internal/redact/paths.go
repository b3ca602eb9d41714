package redact

import (
	"bytes"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/pointer"
)

// Paths are locations in JSON, as lists of names and indexes; * matches any.
type Paths [][]string

// ParsePaths parses paths, each a JSON Pointer (RFC 6901). The error names the path.
func ParsePaths(paths ...string) (all Paths, err error) {
	for _, path := range paths {
		parts, err := pointer.Split(path)
		if err != nil {
			return nil, err
		}
		all = append(all, parts)
	}
	return all, nil
}

// Hide returns data, one JSON value, with [Hidden] at every path, or data itself if it has none of
// them. A path continues into a text that is JSON. The paths of again begin in each such text.
func (p Paths) Hide(data json.RawMessage, again Paths) json.RawMessage {
	w := Walk{again: again}
	w.Rewriter = places{&w}
	return w.from(data, Place{paths: p})
}

// HideMember is Hide for the value of a member of the value where the paths begin. The paths also
// begin in each text that is JSON.
func (p Paths) HideMember(name string, value json.RawMessage) json.RawMessage {
	w := Walk{again: p}
	w.Rewriter = places{&w}
	return w.from(value, Place{paths: p.below(func() string { return name })})
}

// here is the path of a value that is hidden as a whole.
var here = Paths{nil}

// below returns the remaining paths inside a member or element.
func (p Paths) below(name func() string) (deeper Paths) {
	if len(p) == 0 {
		return nil
	}
	member := name()
	for _, path := range p {
		if path[0] == "*" || path[0] == member {
			if len(path) == 1 {
				return here
			}
			deeper = append(deeper, path[1:])
		}
	}
	return deeper
}

// places rewrites the values at the paths of a walk.
type places struct{ walk *Walk }

// Name implements [Rewriter].
func (r places) Name(dst, quoted []byte, _ *Place) ([]byte, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return append(dst, quoted...), false
	}
	name, _ := jsonrpc.Unquote(quoted)
	return jsonrpc.AppendString(dst, name), false // only the escapes differ
}

// Value implements [Rewriter].
func (r places) Value(dst, raw []byte, p *Place) ([]byte, bool) {
	if len(p.paths) == 1 && len(p.paths[0]) == 0 {
		return jsonrpc.AppendString(dst, Hidden), true
	}
	if raw[0] == '"' && (bytes.ContainsAny(raw, "{[") || bytes.Contains(raw, []byte(`\u`))) {
		text, _ := jsonrpc.Unquote(raw)
		if text, changed := r.walk.Text(text, p); changed {
			return jsonrpc.AppendString(dst, text), true
		}
	}
	return dst, false
}
