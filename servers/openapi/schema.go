package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/toolschema"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Limits of an input schema. If a schema exceeds the limits in toolschema, its deep parts accept
// anything.
const (
	maxInputText    = 600 // bytes of a description
	maxSchemaNames  = 500 // properties of one object, or alternatives of one schema
	maxEnumerations = 300 // values of one enum
)

// A converter converts schemas of the document to JSON Schema 2020-12, for arguments. Documents are
// often too strict, so the result can accept more: oneOf becomes anyOf. Defaults are only mentioned
// in the description, so that requests contain only the caller's values.
type converter struct {
	d     *document
	cut   int               // depth from which schemas accept anything; 0 means none, and references stay
	defs  *tree.Object      // definitions by name
	names map[string]string // names of definitions, by target
	parts int               // number of schemas so far; those beyond the limit accept anything
}

// types lists the types of JSON Schema.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// schema converts a schema.
func (c *converter) schema(f *file, value any, depth int) any {
	o, ok := value.(*tree.Object)
	if !ok {
		return tree.NewObject() // true, or an invalid schema
	}
	p := part{f, o}
	if p.Text("$ref") != "" {
		return c.reference(p, depth)
	}
	return c.plain(p, depth)
}

// reference converts a $ref. Other keywords next to it apply in version 3.1 only, but a description
// applies in every version.
func (c *converter) reference(p part, depth int) any {
	target, key, err := c.d.follow(p)
	if err != nil {
		return tree.NewObject("description", "not described: "+err.Error())
	}
	own := tree.NewObject()
	for _, name := range p.Names() {
		if name != "$ref" && (c.d.version != "3.0" || name == "description") {
			own.Set(name, p.Get(name))
		}
	}
	if c.cut > 0 || isSimple(target.Object) {
		merged := tree.NewObject()
		for _, from := range []*tree.Object{target.Object, own} {
			for _, name := range from.Names() {
				merged.Set(name, from.Get(name))
			}
		}
		if c.cut == 0 || depth < c.cut {
			return c.plain(part{target.file, merged}, depth)
		}
		return c.end(part{target.file, merged})
	}
	out := tree.NewObject("$ref", "#/$defs/"+c.define(target, key))
	if text := clip(own.Text("description"), maxInputText); text != "" {
		out.Set("description", text)
	}
	return out
}

// isSimple reports whether a schema contains no others, so that it can replace a reference.
func isSimple(o *tree.Object) bool {
	return len(o.List("enum")) <= 20 && !slices.ContainsFunc(o.Names(), func(name string) bool { return toolschema.Within(name) != toolschema.None })
}

// define adds the target of a reference to the definitions and returns its name there.
func (c *converter) define(target part, key string) string {
	if name, ok := c.names[key]; ok {
		return name
	}
	name := fit(key[strings.LastIndexByte(key, '/')+1:], true)
	if len(name) > maxArgumentName || c.defs.Has(name) {
		name = hashed(name, key, 8, maxArgumentName)
	}
	c.names[key] = name
	c.defs.Set(name, true) // a placeholder, which ends recursion
	c.defs.Set(name, c.plain(target, 0))
	return name
}

// end returns a schema that has only the type and the description.
func (c *converter) end(p part) *tree.Object {
	out := tree.NewObject()
	c.types(p, out)
	if text := clip(p.Text("description"), maxInputText/2); text != "" {
		out.Set("description", text)
	}
	return out
}

// plain converts a schema without a reference.
func (c *converter) plain(p part, depth int) *tree.Object {
	c.parts++
	switch {
	case c.parts > toolschema.MaxParts:
		return tree.NewObject()
	case c.cut > 0 && depth >= c.cut:
		return c.end(p)
	}
	out := tree.NewObject()
	c.types(p, out)
	if text := c.description(p); text != "" {
		out.Set("description", text)
	}
	c.values(p, out)
	bounds(p.Object, out)
	hidden := c.hidden(p)
	for _, name := range p.Names() {
		c.keyword(p, out, name, hidden, depth)
	}
	if names := p.Texts("required"); p.List("required") != nil {
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(hidden, n) })
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 && len(names) <= maxSchemaNames {
			out.Set("required", anyOf(names))
		}
	}
	if c.d.version == "3.0" && p.True("nullable") {
		return nullable(out)
	}
	return out
}

// keyword converts a keyword whose value contains schemas.
func (c *converter) keyword(p part, out *tree.Object, name string, hidden []string, depth int) {
	value := p.Get(name)
	switch toolschema.Within(name) {
	case toolschema.One:
		if closed, ok := value.(bool); ok {
			if !closed && name == "additionalProperties" {
				out.Set(name, false)
			}
			return
		}
		if _, ok := value.(*tree.Object); ok {
			out.Set(name, c.schema(p.file, value, depth+1))
		}
	case toolschema.List:
		all, _ := value.([]any)
		if len(all) == 0 || len(all) > maxSchemaNames {
			return
		}
		converted := make([]any, len(all))
		for i, e := range all {
			converted[i] = c.schema(p.file, e, depth+1)
		}
		c.combine(out, name, converted)
	case toolschema.Named:
		of, _ := value.(*tree.Object)
		if of == nil {
			return
		}
		converted := tree.NewObject()
		for i, n := range of.Names() {
			if i < maxSchemaNames && !slices.Contains(hidden, n) {
				converted.Set(n, c.schema(p.file, of.Get(n), depth+1))
			}
		}
		out.Set(name, converted)
	}
}

// combine sets a combination of schemas. oneOf becomes anyOf, because documents use it for
// overlapping alternatives.
func (c *converter) combine(out *tree.Object, name string, converted []any) {
	switch {
	case (name == "oneOf" || name == "anyOf") && out.Has("anyOf"):
		out.Set("allOf", append(out.List("allOf"), tree.NewObject("anyOf", converted)))
	case name == "oneOf":
		out.Set("anyOf", converted)
	case name == "allOf":
		out.Set(name, append(out.List(name), converted...))
	default:
		out.Set(name, converted)
	}
}

// hidden returns the read-only properties, which callers do not set.
func (c *converter) hidden(p part) (names []string) {
	properties := p.at("properties")
	for _, name := range properties.Names() {
		target, _, err := c.d.follow(properties.at(name))
		if err == nil && (target.True("readOnly") || properties.at(name).True("readOnly")) {
			names = append(names, name)
		}
	}
	return names
}

// types sets the type of a schema.
func (c *converter) types(p part, out *tree.Object) {
	var valid []string
	for _, t := range p.Texts("type") {
		if slices.Contains(types, t) && !slices.Contains(valid, t) {
			valid = append(valid, t)
		}
	}
	switch {
	case len(valid) == 1:
		out.Set("type", valid[0])
	case len(valid) > 1:
		out.Set("type", anyOf(valid))
	case p.Object.Object("properties") != nil && !p.Has("type"):
		out.Set("type", "object") // properties imply this type
	}
}

// nullable returns a schema that also accepts null.
func nullable(out *tree.Object) *tree.Object {
	kind := out.Text("type")
	if kind == "" || kind == "null" || out.Has("anyOf") || out.Has("allOf") {
		if out.Len() == 0 {
			return out
		}
		return tree.NewObject("anyOf", []any{out, tree.NewObject("type", "null")})
	}
	out.Set("type", []any{kind, "null"})
	if values := out.List("enum"); values != nil && !slices.Contains(values, nil) {
		out.Set("enum", append(slices.Clone(values), nil))
	}
	return out
}

// description returns the description of a schema, with its default and other facts that have no
// keyword.
func (c *converter) description(p part) string {
	text := cmp.Or(clip(p.Text("description"), maxInputText), clip(p.Text("title"), maxInputText))
	if p.True("deprecated") {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	if value := p.Get("default"); value != nil {
		if shown := string(tree.Append(nil, value)); len(shown) <= 100 {
			text = strings.TrimSpace(text + " Default: " + shown + ".")
		}
	}
	if p.Text("type") == "string" && p.Text("format") == "byte" {
		text = strings.TrimSpace(text + " In base64.")
	}
	return text
}

// values sets enum and const.
func (c *converter) values(p part, out *tree.Object) {
	if values := p.List("enum"); len(values) > 0 {
		values = p.asTyped(values)
		if len(values) <= maxEnumerations {
			out.Set("enum", values)
		} else {
			shown := string(tree.Append(nil, values[:20]))
			out.Set("description", strings.TrimSpace(out.Text("description")+fmt.Sprintf(" One of %d values, such as %s.", len(values), clip(shown, maxInputText))))
		}
	}
	if p.Has("const") {
		out.Set("const", p.asTyped([]any{p.Get("const")})[0])
	}
	for _, name := range []string{"format", "pattern", "contentEncoding", "contentMediaType"} {
		if text := p.Text(name); text != "" && len(text) <= maxInputText {
			out.Set(name, text)
		}
	}
	if p.True("uniqueItems") {
		out.Set("uniqueItems", true)
	}
	if example := p.Get("example"); example != nil {
		kind, said := kindOf(example), p.Texts("type")
		fits := slices.Contains(said, kind) || kind == "number" && slices.Contains(said, "integer")
		if fits && kind != "object" && len(tree.Append(nil, example)) <= 100 { // invalid examples are common
			out.Set("examples", []any{example})
		}
	}
}

// bounds copies the keywords with numeric values.
func bounds(o, out *tree.Object) {
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		n, ok := o.Get(name).(tree.Number)
		if f, err := strconv.ParseFloat(string(n), 64); ok && err == nil && (name != "multipleOf" || f > 0) {
			out.Set(name, n)
		}
	}
	for _, pair := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		if limit := out.Get(pair[1]); o.True(pair[0]) && limit != nil { // version 3.0 uses booleans
			out.Set(pair[0], limit)
		}
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := o.Get(name).(tree.Number); ok {
			if i, err := strconv.ParseInt(string(n), 10, 32); err == nil && i >= 0 {
				out.Set(name, n)
			}
		}
	}
}

func anyOf(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// clip shortens a text to n bytes, at the end of a word if there is one nearby.
func clip(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[:n], "")
	if space := strings.LastIndexAny(text, " \n"); space > n*3/4 {
		text = text[:space]
	}
	return text + "…"
}

// asTyped converts the values of a string enum to strings, because YAML reads unquoted 1.10 and
// true as other types.
func (p part) asTyped(values []any) []any {
	kinds := p.Texts("type")
	if !slices.Contains(kinds, "string") || slices.Contains(kinds, "number") || slices.Contains(kinds, "integer") || slices.Contains(kinds, "boolean") {
		return values
	}
	values = slices.Clone(values)
	for i, v := range values {
		switch v.(type) {
		case tree.Number, bool:
			values[i] = string(tree.Append(nil, v))
		}
	}
	return values
}
