package revision

import "github.com/junction-mcp/junction/internal/jsonrpc"

// A lowering removes one feature from the members of a result or from the params of a request to a
// client, because revisions before the lowering's row have no form for the feature. Nearly all
// messages need no change, so a lowering first checks whether the bytes may contain the feature at
// all.
type lowering func(body []byte, method string) []byte

// lower returns members in the form of the revision. It applies the lowerings of all later
// revisions, beginning with the newest.
func (r *Revision) lower(body []byte, method string) []byte {
	for i := len(table) - 1; i >= 0 && &table[i] != r; i-- {
		body = table[i].without(body, method)
	}
	return body
}

// without converts members from the form of r to the form of the revision before r.
func (r *Revision) without(body []byte, method string) []byte {
	for _, step := range r.lowerings {
		body = step(body, method)
	}
	return body
}

// onlyObjects removes structured content that is not an object (its copy as text stays), and output
// schemas that do not describe an object. It replaces boolean schemas by objects.
func onlyObjects(body []byte, method string) []byte {
	switch method {
	case "tools/list":
		if mayHold(body, "outputSchema") || mayHoldBooleanSchema(body) {
			return eachListed(body, "tools", lowerTool)
		}
	case "tools/call":
		return withoutUnless(body, "structuredContent", isObject) // faster than mayHold, which also searches within texts
	case "sampling/createMessage":
		if mayHold(body, "tools") && mayHoldBooleanSchema(body) {
			return eachListed(body, "tools", lowerTool)
		}
	}
	return body
}

// withoutUnless returns object without the named member, unless the function wanted returns true
// for the member's value. If nothing changes, it returns object itself.
func withoutUnless(object []byte, name string, wanted func(value []byte) bool) []byte {
	if value := jsonrpc.Get(object, name); value == nil || wanted(value) {
		return object
	}
	return jsonrpc.Without(object, name)
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

func lowerTool(tool []byte) []byte {
	tool = withoutUnless(tool, "outputSchema", func(schema []byte) bool {
		return string(jsonrpc.Get(schema, "type")) == `"object"`
	})
	if !mayHoldBooleanSchema(tool) {
		return tool
	}
	return lowerSchemas(tool)
}

// withoutContent returns a lowering that converts content blocks of a kind to text.
func withoutContent(kind string) lowering {
	return func(body []byte, method string) []byte {
		list := "messages" // messages with one block each
		switch method {
		case "tools/call":
			list = "content"
		case "prompts/get", "sampling/createMessage":
		default:
			return body
		}
		if !mayHold(body, kind) {
			return body
		}
		return eachListed(body, list, func(item []byte) []byte {
			block := jsonrpc.Get(item, "content")
			if list != "messages" || block == nil {
				return withoutBlock(kind, item)
			}
			return jsonrpc.With(item, "content", withoutBlock(kind, block))
		})
	}
}

func withoutBlock(kind string, block []byte) []byte {
	if of, _ := jsonrpc.Unquote(jsonrpc.Get(block, "type")); of != kind {
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

// eachListed rewrites every element of an array in an object. If nothing changes, it returns the
// object itself, and otherwise a copy.
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
