package redact

import (
	"bytes"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/pointer"
)

// Paths is a list of locations in JSON. Each location is a list of names and indexes, in which *
// matches any name or index.
type Paths [][]string

// ParsePaths parses paths, each of which is a JSON Pointer (RFC 6901). The error contains the
// invalid path.
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

// Hide returns data, which must be one JSON value, with the values at all paths replaced by
// [Hidden]. It returns data itself if no path exists in it. Paths continue within texts that are
// JSON. The paths in again are applied to each such text, beginning at its root.
func (p Paths) Hide(data json.RawMessage, again Paths) json.RawMessage {
	w := Walk{again: again}
	w.Rewriter = places{&w}
	return w.from(data, Place{paths: p})
}

// HideMember is like Hide, but for the value of the member name of the object where the paths
// begin. It also applies the paths to each text that is JSON, beginning at its root.
func (p Paths) HideMember(name string, value json.RawMessage) json.RawMessage {
	w := Walk{again: p}
	w.Rewriter = places{&w}
	return w.from(value, Place{paths: p.below(func() string { return name })})
}

// here is the list of the remaining paths at a value that is hidden completely.
var here = Paths{nil}

// below returns the remaining paths within the member or element with the given name.
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

// places is the [Rewriter] that hides the values at the paths of a walk.
type places struct{ walk *Walk }

// Name implements [Rewriter].
func (r places) Name(dst, quoted []byte, _ *Place) ([]byte, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return append(dst, quoted...), false
	}
	name, _ := jsonrpc.Unquote(quoted)
	return jsonrpc.AppendString(dst, name), false // name is the same; only its escapes differ
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
