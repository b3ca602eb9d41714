package revision

import (
	"bytes"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// lower returns the members of a result as the legacy revision can hold them:
//
//   - structured content that is no object is left away (its text copy stays),
//     and so is an output schema that does not describe an object;
//   - content of a kind that came later becomes text.
//
// Nearly all results need none of this and are returned as they are, so it
// first looks whether the bytes can hold such a thing at all.
func (r *Revision) lower(body []byte, method string) []byte {
	switch method {
	case "tools/list":
		if bytes.Contains(body, []byte(`"outputSchema"`)) {
			return eachListed(body, "tools", lowerTool)
		}
	case "tools/call":
		if holdsStructured(body) {
			body = lowerStructured(body)
		}
		return r.lowerContents(body, "content")
	case "prompts/get":
		return r.lowerContents(body, "messages")
	}
	return body
}

// A Lowering remembers what large results that are handed out again and again,
// such as lists, look like in a legacy revision. The zero value is ready; it is
// safe for concurrent use.
type Lowering struct {
	mu    sync.Mutex
	known map[lowerKey][]byte
}

// A lowerKey identifies bytes that are never changed by where they are. The
// table holds on to them, so no other bytes can come to lie there.
type lowerKey struct {
	revision *Revision
	method   string
	first    *byte
	length   int
}

const (
	lowerRemember = 4 << 10 // bytes from which on a result is remembered
	maxLowerings  = 256
)

// lowerJSON is lower for a result that was encoded before and is not changed.
func (l *Lowering) lowerJSON(r *Revision, body []byte, method string) []byte {
	if l == nil || len(body) < lowerRemember || method != "tools/list" {
		return r.lower(body, method)
	}
	key := lowerKey{r, method, &body[0], len(body)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if out, ok := l.known[key]; ok {
		return out
	}
	if l.known == nil || len(l.known) >= maxLowerings {
		l.known = make(map[lowerKey][]byte)
	}
	out := r.lower(body, method)
	l.known[key] = out
	return out
}

// holdsStructured reports whether there may be structured content that is no object.
func holdsStructured(body []byte) bool {
	name := []byte(`"structuredContent":`)
	for {
		i := bytes.Index(body, name)
		if i < 0 {
			return false
		}
		body = body[i+len(name):]
		if len(body) > 0 && body[0] != '{' {
			return true
		}
	}
}

func lowerStructured(body []byte) []byte {
	value := jsonrpc.Get(body, "structuredContent")
	if len(value) == 0 || value[0] == '{' {
		return body
	}
	return jsonrpc.Without(body, "structuredContent")
}

func lowerTool(tool []byte) []byte {
	output := jsonrpc.Get(tool, "outputSchema")
	if output == nil || string(jsonrpc.Get(output, "type")) == `"object"` {
		return tool
	}
	return jsonrpc.Without(tool, "outputSchema")
}

// lowerContents turns blocks of unknown kinds in the named list into text. The
// list holds blocks, or messages with one block each.
func (r *Revision) lowerContents(body []byte, list string) []byte {
	if !slices.ContainsFunc(r.unknownContent, func(kind string) bool {
		return bytes.Contains(body, []byte(`"`+kind+`"`))
	}) {
		return body
	}
	return eachListed(body, list, func(item []byte) []byte {
		block := jsonrpc.Get(item, "content")
		if list != "messages" || block == nil {
			return r.lowerBlock(item)
		}
		return jsonrpc.With(item, "content", r.lowerBlock(block))
	})
}

func (r *Revision) lowerBlock(block []byte) []byte {
	kind, _ := jsonrpc.Unquote(jsonrpc.Get(block, "type"))
	if !slices.Contains(r.unknownContent, kind) {
		return block
	}
	text := "[" + kind + "]"
	if uri, ok := jsonrpc.Unquote(jsonrpc.Get(block, "uri")); ok {
		text = "[resource " + uri + "]"
	} else if mime, ok := jsonrpc.Unquote(jsonrpc.Get(block, "mimeType")); ok {
		text = "[" + kind + " " + mime + "]"
	}
	return append(jsonrpc.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// eachListed rewrites every object in the named array of an object. Where
// nothing changes the object itself is returned, else a copy.
func eachListed(body []byte, list string, rewrite func([]byte) []byte) []byte {
	array := jsonrpc.Get(body, list)
	if len(array) == 0 || array[0] != '[' {
		return body
	}
	changed := false
	items := make([][]byte, 0, 16)
	jsonrpc.EachElement(array, func(item []byte) bool {
		out := rewrite(item)
		changed = changed || len(out) != len(item) || len(out) > 0 && &out[0] != &item[0]
		items = append(items, out)
		return true
	})
	if !changed {
		return body
	}
	joined := append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
	return jsonrpc.With(body, list, joined)
}
