package graphql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/toolschema"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// introspection is the query for the types (GraphQL, section 4.2). It reads types inside up to nine
// levels of lists and !.
const introspection = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } types { kind name description
 fields { name description args { ...A } type { ...T } } inputFields { ...A } enumValues { name } possibleTypes { name } } } }
fragment A on __InputValue { name description type { ...T } defaultValue }
fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`

const (
	maxText  = 600 // bytes of the description of an argument
	maxEnum  = 300 // values of one enum in a schema
	maxInner = 200 // fields of one input object in a schema
)

// A schema holds the types of an API.
type schema struct {
	types           map[string]*tree.Object
	query, mutation string
}

// readSchema reads the introspection result.
func readSchema(value any) (*schema, error) {
	answer, _ := value.(*tree.Object)
	if answer.Has("data") {
		answer = answer.Object("data")
	}
	from := answer.Object("__schema")
	if from == nil {
		return nil, fmt.Errorf("there is no __schema: if introspection is switched off, save an introspection result and give the file")
	}
	s := &schema{types: map[string]*tree.Object{}, query: from.Object("queryType").Text("name"), mutation: from.Object("mutationType").Text("name")}
	for _, e := range from.List("types") {
		if t, ok := e.(*tree.Object); ok {
			s.types[t.Text("name")] = t
		}
	}
	return s, nil
}

// asks reports whether a query with that name exists.
func (s *schema) asks(name string) bool {
	return slices.ContainsFunc(s.types[s.query].List("fields"), func(e any) bool { f, ok := e.(*tree.Object); return ok && f.Text("name") == name })
}

// bare returns a type without lists and !.
func bare(t *tree.Object) *tree.Object {
	for t.Object("ofType") != nil {
		t = t.Object("ofType")
	}
	return t
}

// typeText returns a type in GraphQL syntax, such as [ID!]!.
func typeText(t *tree.Object) string {
	switch t.Text("kind") {
	case "NON_NULL":
		return typeText(t.Object("ofType")) + "!"
	case "LIST":
		return "[" + typeText(t.Object("ofType")) + "]"
	}
	return t.Text("name")
}

// isRequired reports whether an argument or an input field is required.
func isRequired(argument *tree.Object) bool {
	return argument.Object("type").Text("kind") == "NON_NULL" && argument.Get("defaultValue") == nil
}

// inputs converts input types to JSON Schema.
type inputs struct {
	schema *schema
	cut    int // maximum depth of nested inputs; 0 means no limit
	defs   *tree.Object
	left   int // number of schemas that may still be added
}

// of returns the schema of a type. It allows null unless the type is NON_NULL.
func (in *inputs) of(t *tree.Object, depth int) *tree.Object {
	if t.Text("kind") == "NON_NULL" {
		return in.value(t.Object("ofType"), depth)
	}
	out := in.value(t, depth)
	switch kind := out.Get("type").(type) {
	case string:
		out.Set("type", []any{kind, "null"})
		if values := out.List("enum"); values != nil {
			out.Set("enum", append(values, nil))
		}
	case []any:
		out.Set("type", append(kind, "null"))
	default:
		if out.Len() > 0 {
			return tree.NewObject("anyOf", []any{out, tree.NewObject("type", "null")})
		}
	}
	return out
}

func (in *inputs) value(t *tree.Object, depth int) *tree.Object {
	if in.left--; in.left < 0 {
		return tree.NewObject()
	}
	name := t.Text("name")
	switch t.Text("kind") {
	case "NON_NULL":
		return in.value(t.Object("ofType"), depth)
	case "LIST":
		return tree.NewObject("type", "array", "items", in.of(t.Object("ofType"), depth))
	case "ENUM":
		return in.enum(name)
	case "INPUT_OBJECT":
		if in.cut > 0 && depth >= in.cut {
			return tree.NewObject("type", "object", "description", "an input of the type "+name)
		}
		if !in.defs.Has(name) {
			in.defs.Set(name, true) // a placeholder, so that a recursive type ends here
			in.defs.Set(name, in.object(in.schema.types[name], depth+1))
		}
		return tree.NewObject("$ref", "#/$defs/"+name)
	}
	switch name {
	case "Int":
		return tree.NewObject("type", "integer")
	case "Float":
		return tree.NewObject("type", "number")
	case "String":
		return tree.NewObject("type", "string")
	case "Boolean":
		return tree.NewObject("type", "boolean")
	case "ID":
		return tree.NewObject("type", []any{"string", "integer"})
	}
	out := tree.NewObject()
	if text := clip(in.schema.types[name].Text("description"), maxText); text != "" {
		out.Set("description", name+": "+text)
	}
	return out
}

func (in *inputs) enum(name string) *tree.Object {
	values := []any{}
	for _, e := range in.schema.types[name].List("enumValues") {
		if v, ok := e.(*tree.Object); ok {
			values = append(values, v.Text("name"))
		}
	}
	out := tree.NewObject("type", "string")
	if len(values) > 0 && len(values) <= maxEnum {
		out.Set("enum", values)
	} else {
		out.Set("description", "a value of the enum "+name)
	}
	return out
}

// object returns the schema of an input object. The depth of its fields counts from its first use.
func (in *inputs) object(t *tree.Object, depth int) *tree.Object {
	out := in.fields(t.List("inputFields"), depth)
	if text := clip(t.Text("description"), maxText); text != "" {
		out.Set("description", text)
	}
	return out
}

// fields returns the schema of arguments, or of the fields of an input object.
func (in *inputs) fields(list []any, depth int) *tree.Object {
	properties, required := tree.NewObject(), []any{}
	for i, e := range list {
		f, ok := e.(*tree.Object)
		if !ok || i >= maxInner && !isRequired(f) {
			continue
		}
		p := in.of(f.Object("type"), depth)
		text := clip(f.Text("description"), maxText)
		if value := f.Text("defaultValue"); value != "" && value != "null" {
			text = strings.TrimSpace(text + " Default: " + clip(value, maxText/2) + ".")
		}
		if text != "" {
			p.Set("description", text)
		}
		properties.Set(f.Text("name"), p)
		if isRequired(f) {
			required = append(required, f.Text("name"))
		}
	}
	out := tree.NewObject("type", "object", "properties", properties)
	if len(required) > 0 {
		out.Set("required", required)
	}
	out.Set("additionalProperties", len(list) > maxInner)
	return out
}

// input returns the schema of a tool's arguments, cut off at the greatest depth that keeps it
// within the limits.
func (s *schema) input(field *tree.Object, selects bool) *tree.Object {
	var out *tree.Object
	for _, cut := range []int{0, 6, 4, 3, 2, 1} {
		in := &inputs{schema: s, cut: cut, defs: tree.NewObject(), left: toolschema.MaxParts}
		out = in.fields(field.List("args"), 0)
		if selects && !out.Object("properties").Has(fieldsArgument) {
			out.Object("properties").Set(fieldsArgument, tree.NewObject("type", "string",
				"description", "What to return of "+typeText(bare(field.Object("type")))+", as a GraphQL selection set such as {id owner {login}}. Without it: its plain fields."))
		}
		if in.defs.Len() > 0 {
			out.Set("$defs", in.defs)
		}
		if in.left >= 0 && toolschema.Fits(out) {
			break
		}
	}
	return out
}

// clip shortens a text to about n bytes.
func clip(text string, n int) string {
	if text = strings.TrimSpace(text); len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}
