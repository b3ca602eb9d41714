package arguments

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Limits on the way through a schema, which may refer to itself.
const (
	maxRefs  = 32    // references in a row
	maxParts = 1_000 // alternatives looked at for one answer
)

// A Field is one member of an object, as its schema describes it.
type Field struct {
	Name        string
	Type        string // for people: "integer", "string[]", "small|large", "any"
	Required    bool
	Title       string
	Description string
	Default     json.RawMessage // nil if there is none
	Choices     []string        // the only values; nil if there are others

	schema node
}

// Fields are the members that the schema of an object names, in its order.
func Fields(schema json.RawMessage) []Field { return rootOf(schema).fields() }

// A node is a part of a schema.
type node struct{ root, raw json.RawMessage }

// rootOf is a whole schema.
func rootOf(schema json.RawMessage) node {
	schema = bytes.TrimSpace(schema)
	return node{schema, schema}
}

// get returns a member of the part, references followed.
func (n node) get(name string) json.RawMessage { return jsonrpc.Get(n.resolved().raw, name) }

func (n node) at(raw json.RawMessage) node { return node{n.root, raw} }

// resolved follows $ref inside the schema.
func (n node) resolved() node {
	for range maxRefs {
		ref, ok := jsonrpc.Unquote(jsonrpc.Get(n.raw, "$ref"))
		if !ok || !strings.HasPrefix(ref, "#") {
			return n
		}
		target := n.root
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
			target = jsonrpc.Get(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
		if ref == "#" {
			target = n.root
		}
		if target == nil {
			return n.at(json.RawMessage(`{}`))
		}
		n = n.at(target)
	}
	return n.at(json.RawMessage(`{}`))
}

func (n node) fields() []Field {
	var required []string
	jsonrpc.EachElement(n.get("required"), func(value []byte) bool {
		name, _ := jsonrpc.Unquote(value)
		required = append(required, name)
		return true
	})
	var fields []Field
	jsonrpc.EachMember(n.get("properties"), func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		property := n.at(value)
		fields = append(fields, Field{
			Name:        name,
			Type:        property.describe(),
			Required:    slices.Contains(required, name),
			Title:       property.text("title"),
			Description: property.text("description"),
			Default:     property.near("default"),
			Choices:     property.choiceWords(),
			schema:      property,
		})
		return true
	})
	return fields
}

// near is a member next to a reference, or behind it.
func (n node) near(name string) json.RawMessage {
	if value := jsonrpc.Get(n.raw, name); value != nil {
		return value
	}
	return n.get(name)
}

func (n node) text(name string) string {
	text, _ := jsonrpc.Unquote(n.near(name))
	return text
}

// open reports whether an object may have members that the schema does not name,
// because it says so.
func (n node) open() bool {
	more := n.get("additionalProperties")
	return more != nil && string(more) != "false" || n.get("patternProperties") != nil
}

// types are the JSON types that a value may have; none means any.
func (n node) types() []string {
	parts := maxParts
	return n.collect(nil, &parts)
}

func (n node) collect(types []string, parts *int) []string {
	if *parts--; *parts < 0 {
		return types
	}
	n = n.resolved()
	add := func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok && !slices.Contains(types, name) {
			types = append(types, name)
		}
		return true
	}
	if declared := jsonrpc.Get(n.raw, "type"); declared != nil {
		add(declared)
		jsonrpc.EachElement(declared, add)
		return types
	}
	for _, value := range n.choices() {
		if kind := kindOf(value); !slices.Contains(types, kind) {
			types = append(types, kind)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		jsonrpc.EachElement(jsonrpc.Get(n.raw, keyword), func(value []byte) bool {
			types = n.at(value).collect(types, parts)
			return *parts > 0
		})
	}
	if len(types) == 0 && jsonrpc.Get(n.raw, "properties") != nil {
		types = append(types, "object")
	}
	return types
}

// choices are the values of enum or const.
func (n node) choices() []json.RawMessage {
	n = n.resolved()
	if value := jsonrpc.Get(n.raw, "const"); value != nil {
		return []json.RawMessage{value}
	}
	var choices []json.RawMessage
	jsonrpc.EachElement(jsonrpc.Get(n.raw, "enum"), func(value []byte) bool {
		choices = append(choices, value)
		return true
	})
	return choices
}

// choiceWords are the choices as a person writes them.
func (n node) choiceWords() []string {
	var words []string
	for _, c := range n.choices() {
		word, ok := jsonrpc.Unquote(c)
		if !ok {
			word = string(c)
		}
		words = append(words, word)
	}
	return words
}

// describe names the types for people.
func (n node) describe() string {
	if words := n.choiceWords(); len(words) > 0 {
		return strings.Join(words, "|")
	}
	types := n.types()
	if len(types) == 0 {
		return "any"
	}
	var words []string
	for _, name := range types {
		if name == "array" {
			name = "any[]"
			if items := n.items(); items.raw != nil && len(items.types()) == 1 && items.types()[0] != "array" {
				name = items.types()[0] + "[]"
			}
		}
		words = append(words, name)
	}
	if len(words) == 2 && words[1] == "null" {
		return words[0]
	}
	return strings.Join(words, "|")
}

// items is the schema of a list's elements, also inside an alternative.
func (n node) items() node { return n.at(n.first("items").get("items")) }

// object is the part that describes the members of an object.
func (n node) object() node { return n.first("properties") }

// first is n itself or the first of its alternatives that has the keyword; n if
// none has it.
func (n node) first(keyword string) node {
	parts := maxParts
	return n.having(keyword, &parts)
}

func (n node) having(keyword string, parts *int) node {
	n = n.resolved()
	if *parts--; *parts < 0 || jsonrpc.Get(n.raw, keyword) != nil {
		return n
	}
	found := n
	for _, of := range []string{"anyOf", "oneOf", "allOf"} {
		jsonrpc.EachElement(jsonrpc.Get(n.raw, of), func(value []byte) bool {
			c := n.at(value).having(keyword, parts)
			if jsonrpc.Get(c.raw, keyword) != nil {
				found = c
				return false
			}
			return *parts > 0
		})
	}
	return found
}

func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
