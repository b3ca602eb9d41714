package injected

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// What models call the parts of a call.
var (
	nameKeys     = []string{"name", "tool", "tool_name", "function", "function_name", "recipient_name", "action"}
	argumentKeys = []string{"arguments", "parameters", "args", "input", "params", "tool_input", "action_input", "kwargs"}
	aroundKeys   = []string{"id", "type", "index", "call_id"}
)

// read makes calls of a value. It returns none unless all of it are calls. Where
// the model did not say that it is one, only calls with arguments of tools
// that exist count.
func (b *toolbox) read(raw json.RawMessage, tagged bool) []*model.Call {
	if fault := jsonrpc.Valid(raw, jsonrpc.Limits{}); fault != nil {
		if match := damagedName.FindSubmatch(raw); tagged && match != nil {
			return []*model.Call{b.malformed(string(match[1]), string(raw), "the call is not valid JSON: "+fault.Message)}
		}
		return nil
	}
	if list := jsonrpc.Get(raw, "tool_calls"); len(list) > 0 && list[0] == '[' {
		raw = list
	}
	before := b.lastID
	var calls []*model.Call
	whole := true
	add := func(value []byte) bool {
		c := b.readOne(value, tagged)
		if whole = c != nil && len(calls) <= maxCalls; whole {
			calls = append(calls, c)
		}
		return whole
	}
	if isObject(raw) {
		add(raw)
	} else {
		jsonrpc.EachElement(raw, add)
	}
	if !whole {
		b.lastID = before
		return nil
	}
	return calls
}

func (b *toolbox) readOne(raw json.RawMessage, tagged bool) *model.Call {
	if inner := jsonrpc.Get(raw, "function"); isObject(inner) {
		raw = inner
	}
	name, arguments := "", json.RawMessage(nil)
	for _, key := range nameKeys {
		if text, ok := jsonrpc.Unquote(jsonrpc.Get(raw, key)); ok && name == "" {
			name = strings.TrimSpace(text)
		}
	}
	for _, key := range argumentKeys {
		if value := jsonrpc.Get(raw, key); value != nil && arguments == nil {
			arguments = value
		}
	}
	t := b.find(name)
	switch {
	case !tagged && (t == nil || arguments == nil || arguments[0] != '{' && arguments[0] != '"'):
		return nil
	case name == "" && tagged:
		return b.keyed(raw)
	case name == "":
		return nil
	case arguments == nil:
		arguments = jsonrpc.Without(raw, slices.Concat(nameKeys[:5], aroundKeys)...)
	}
	return b.made(name, arguments)
}

// keyed reads an object whose one member is the tool: {"add":{"a":1}}.
func (b *toolbox) keyed(raw json.RawMessage) *model.Call {
	members, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil || members.Len() != 1 {
		return nil
	}
	for name, value := range members.All() {
		if b.find(name) != nil && isObject(value) {
			return b.made(name, value)
		}
	}
	return nil
}

// convert returns the JSON of a value that was written as plain text, in the type
// that its schema wants.
func convert(text string, schema json.RawMessage) json.RawMessage {
	plain := strings.TrimSpace(text)
	if types := typesOf(schema, 0); len(types) > 0 {
		for _, kind := range types {
			if kind != "null" && slices.Contains(types, "string") {
				break // every text is one
			}
			if raw := convertTo(plain, kind); raw != nil {
				return raw
			}
		}
	} else if schema == nil || jsonrpc.Get(schema, "enum") == nil {
		if jsonrpc.Valid([]byte(plain), jsonrpc.Limits{}) == nil {
			return json.RawMessage(plain)
		}
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	return jsonrpc.AppendString(nil, text)
}

// typesOf returns the types that a schema names, null first.
func typesOf(schema json.RawMessage, depth int) []string {
	var types []string
	collect := func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok {
			types = append(types, name)
		}
		return true
	}
	if kind := jsonrpc.Get(schema, "type"); len(kind) > 0 && !collect(kind) || len(types) == 0 {
		jsonrpc.EachElement(kind, collect)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		jsonrpc.EachElement(jsonrpc.Get(schema, key), func(value []byte) bool {
			if depth < 4 {
				types = append(types, typesOf(value, depth+1)...)
			}
			return true
		})
	}
	if i := slices.Index(types, "null"); i > 0 {
		types[0], types[i] = types[i], types[0]
	}
	return types
}

// convertTo returns nil if the text is not of the type.
func convertTo(plain, kind string) json.RawMessage {
	raw, ok := readLoose(plain)
	if !ok {
		return nil
	}
	first := raw[0]
	switch kind {
	case "integer", "number":
		ok = first == '-' || isDigit(int(first))
	case "boolean":
		ok = first == 't' || first == 'f'
	case "null":
		ok = string(raw) == "null"
	case "array":
		ok = first == '['
	case "object":
		ok = first == '{'
	default:
		ok = false
	}
	if !ok {
		return nil
	}
	return raw
}
