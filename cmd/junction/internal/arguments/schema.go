package arguments

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// A Field is a member of an object, as its schema describes it.
type Field struct {
	Name        string
	Type        string // type as shown to users: "integer", "string[]", "small|large", "any"
	Required    bool
	Title       string
	Description string
	Default     json.RawMessage // nil without a default
	Choices     []string        // the only valid values; nil if there are others

	schema schema.View
}

// Fields returns the members in the schema of an object, in the order of the schema.
func Fields(object json.RawMessage) []Field { return fieldsOf(schema.Look(object)) }

func fieldsOf(object schema.View) (fields []Field) {
	for p := range object.Properties() {
		fields = append(fields, Field{
			Name:        p.Name,
			Type:        describe(p.View),
			Required:    p.Required,
			Title:       p.Text("title"),
			Description: p.Text("description"),
			Default:     p.Get("default"),
			Choices:     choiceWords(p.View),
			schema:      p.View,
		})
	}
	return fields
}

// open reports whether a schema explicitly allows members that it does not name.
func open(object schema.View) bool {
	more := object.Get("additionalProperties")
	return more != nil && string(more) != "false" || object.Get("patternProperties") != nil
}

// choiceWords returns the choices as users type them.
func choiceWords(v schema.View) []string {
	var words []string
	for _, c := range v.Choices() {
		word, ok := jsonrpc.Unquote(c)
		if !ok {
			word = string(c)
		}
		words = append(words, word)
	}
	return words
}

// describe returns the types of a schema as text for users.
func describe(v schema.View) string {
	if words := choiceWords(v); len(words) > 0 {
		return strings.Join(words, "|")
	}
	types := v.Types()
	if len(types) == 0 {
		return "any"
	}
	var words []string
	for _, name := range types {
		if name == "array" {
			name = "any[]"
			if items := v.Items().Types(); len(items) == 1 && items[0] != "array" {
				name = items[0] + "[]"
			}
		}
		words = append(words, name)
	}
	if len(words) == 2 && words[1] == "null" {
		return words[0]
	}
	return strings.Join(words, "|")
}
