package revision

import (
	"bytes"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// lower rewrites the result that stands in dst from the given offset on, where
// it holds what the legacy revision has no form for:
//
//   - structured content that is no object is left away (its text copy stays),
//     and so is an output schema that does not describe an object;
//   - content of a kind that came later becomes text.
//
// Nearly all results need none of this, so it first looks whether the bytes can
// hold such a thing at all.
func (r *Revision) lower(dst []byte, from int, method string) []byte {
	body := dst[from:]
	switch method {
	case "tools/list":
		if bytes.Contains(body, []byte(`"outputSchema"`)) {
			return append(dst[:from], eachListed(body, "tools", lowerTool)...)
		}
	case "tools/call":
		if holdsStructured(body) {
			body = lowerStructured(body)
		}
		return append(dst[:from], r.lowerContents(body, "content")...)
	case "prompts/get":
		return append(dst[:from], r.lowerContents(body, "messages")...)
	}
	return dst
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
	value := get(body, "structuredContent")
	if len(value) == 0 || value[0] == '{' {
		return body
	}
	kept, _ := jsonrpc.AppendEdited(nil, body, "structuredContent")
	return append(kept, '}')
}

func lowerTool(tool []byte) []byte {
	output := get(tool, "outputSchema")
	if output == nil || string(get(output, "type")) == `"object"` {
		return tool
	}
	kept, _ := jsonrpc.AppendEdited(nil, tool, "outputSchema")
	return append(kept, '}')
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
		block := get(item, "content")
		if list != "messages" || block == nil {
			return r.lowerBlock(item)
		}
		message, any := jsonrpc.AppendEdited(nil, item, "content")
		if any {
			message = append(message, ',')
		}
		return append(append(append(message, `"content":`...), r.lowerBlock(block)...), '}')
	})
}

func (r *Revision) lowerBlock(block []byte) []byte {
	kind, _ := jsonrpc.Unquote(get(block, "type"))
	if !slices.Contains(r.unknownContent, kind) {
		return block
	}
	text := "[" + kind + "]"
	if uri, ok := jsonrpc.Unquote(get(block, "uri")); ok {
		text = "[resource " + uri + "]"
	} else if mime, ok := jsonrpc.Unquote(get(block, "mimeType")); ok {
		text = "[" + kind + " " + mime + "]"
	}
	return append(jsonrpc.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// eachListed rewrites every object in the named array of an object. The result
// is a copy.
func eachListed(body []byte, list string, rewrite func([]byte) []byte) []byte {
	array := get(body, list)
	if array == nil {
		return bytes.Clone(body)
	}
	out, any := jsonrpc.AppendEdited(make([]byte, 0, len(body)), body, list)
	if any {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), list...), `":[`...)
	first := true
	jsonrpc.EachElement(array, func(item []byte) bool {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, rewrite(item)...)
		return true
	})
	return append(out, ']', '}')
}

// get returns one member of an object that was checked before.
func get(object []byte, name string) []byte {
	var found []byte
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		if string(quoted[1:len(quoted)-1]) == name {
			found = value
		}
		return found == nil
	})
	return found
}
