package revision

import (
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// lower returns the members of a result as the legacy revision can hold them:
//
//   - structured content that is no object is omitted (its text copy stays), and
//     so is an output schema that does not describe an object;
//   - content of a kind that came later becomes text.
//
// Nearly all results need none of this and are returned as they are, so it
// first looks whether the bytes can hold such a thing at all.
func (r *Revision) lower(body []byte, method string) []byte {
	switch method {
	case "tools/list":
		if mayHold(body, "outputSchema") {
			return eachListed(body, "tools", lowerTool)
		}
	case "tools/call":
		if mayHold(body, "structuredContent") {
			body = withoutUnless(body, "structuredContent", isObject)
		}
		return r.lowerContents(body, "content")
	case "prompts/get":
		return r.lowerContents(body, "messages")
	}
	return body
}

// withoutUnless returns the object without the named member, unless its value is
// of the wanted form. An object that needs no change is returned as it is.
func withoutUnless(object []byte, name string, wanted func(value []byte) bool) []byte {
	if value := jsonrpc.Get(object, name); value == nil || wanted(value) {
		return object
	}
	return jsonrpc.Without(object, name)
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

func lowerTool(tool []byte) []byte {
	return withoutUnless(tool, "outputSchema", func(schema []byte) bool {
		return string(jsonrpc.Get(schema, "type")) == `"object"`
	})
}

// lowerContents turns blocks of unknown kinds in the named list into text. The
// list holds blocks, or messages with one block each.
func (r *Revision) lowerContents(body []byte, list string) []byte {
	if !slices.ContainsFunc(r.unknownContent, func(kind string) bool { return mayHold(body, kind) }) {
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
	w := jsonrpc.NewObject(nil)
	w.String("type", "text")
	w.String("text", text)
	return w.Bytes()
}

// eachListed rewrites every element of the named array of an object. Where
// nothing changes the object itself is returned, else a copy.
func eachListed(body []byte, list string, rewrite func([]byte) []byte) []byte {
	array := jsonrpc.Get(body, list)
	changes := false
	jsonrpc.EachElement(array, func(item []byte) bool {
		changes = &rewrite(item)[0] != &item[0]
		return !changes
	})
	if !changes {
		return body
	}
	w := jsonrpc.NewArray(make([]byte, 0, len(array)))
	jsonrpc.EachElement(array, func(item []byte) bool { w.Element(rewrite(item)); return true })
	return jsonrpc.With(body, list, w.Bytes())
}
