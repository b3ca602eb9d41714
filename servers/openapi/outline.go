package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Limits of a tool's output schema.
const (
	maxOutputSchema = 8 << 10 // bytes
	maxOutputParts  = 1_000   // number of schemas
	maxOutputDepth  = 5       // depth of objects and lists
	maxOutputText   = 120     // bytes of each description
)

// An outline describes the types of a response's members, each of which may be missing or null.
// Real responses often differ from other parts of their documents, and clients refuse responses
// that do not match an output schema.
type outline struct {
	text       string
	kinds      []string // JSON Schema types; empty means any
	properties map[string]*outline
	names      []string
	items      *outline
}

// outlining makes one outline.
type outlining struct {
	document *document
	left     int // number of schemas that may still be examined
}

// outlineWithin returns the deepest outline of a schema that is within the limits, and its JSON
// Schema. It returns nil if the schema does not describe an object.
func (d *document) outlineWithin(f *file, value any) (*outline, *tree.Object) {
	for depth := maxOutputDepth; depth > 0; depth-- {
		work := &outlining{d, maxOutputParts}
		o := work.outlineOf(f, value, depth)
		if !slices.Equal(o.kinds, []string{"object"}) {
			return nil, nil
		}
		if schema := o.schema(true); work.left > 0 && len(tree.Append(nil, schema)) <= maxOutputSchema {
			return o, schema
		}
	}
	return &outline{kinds: []string{"object"}}, tree.NewObject("type", "object")
}

// outlineOf returns the outline of a schema to a depth.
func (d *outlining) outlineOf(f *file, value any, depth int) *outline {
	o, ok := value.(*tree.Object)
	if d.left--; !ok || d.left < 0 {
		return &outline{}
	}
	p, _, err := d.document.follow(part{f, o})
	if err != nil {
		return &outline{}
	}
	out := &outline{text: clip(p.Text("description"), maxOutputText)}
	d.fillOutline(out, p, depth, 0)
	return out
}

// fillOutline adds a schema, and the schemas in its allOf, to an outline. nested is the depth of
// allOf.
func (d *outlining) fillOutline(out *outline, p part, depth, nested int) {
	for _, t := range p.Texts("type") {
		if slices.Contains(types, t) && !slices.Contains(out.kinds, t) {
			out.kinds = append(out.kinds, t)
		}
	}
	if len(out.kinds) == 0 && p.Has("properties") {
		out.kinds = []string{"object"}
	}
	if alternatives := slices.Concat(p.List("anyOf"), p.List("oneOf")); len(alternatives) > 0 {
		d.alternatives(out, p.file, alternatives, depth)
	}
	if nested < maxRefs {
		for _, e := range p.List("allOf") {
			if o, ok := e.(*tree.Object); ok {
				if target, _, err := d.document.follow(part{p.file, o}); err == nil {
					d.fillOutline(out, target, depth, nested+1)
				}
			}
		}
	}
	if depth <= 0 {
		return
	}
	properties := p.at("properties")
	for i, name := range properties.Names() {
		if i >= maxSchemaNames || properties.at(name).True("writeOnly") || out.properties[name] != nil {
			continue
		}
		if out.properties == nil {
			out.properties = map[string]*outline{}
		}
		out.properties[name] = d.outlineOf(p.file, properties.Get(name), depth-1)
		out.names = append(out.names, name)
	}
	if items := p.Get("items"); items != nil && out.items == nil {
		out.items = d.outlineOf(p.file, items, depth-1)
	}
}

// alternatives adds the types of alternatives. If all but one are null, it adds that one in full.
func (d *outlining) alternatives(out *outline, f *file, all []any, depth int) {
	var kinds []string
	var lone *part
	known := true
	for _, e := range all {
		o, ok := e.(*tree.Object)
		if !ok {
			known = false
			continue
		}
		p, _, err := d.document.follow(part{f, o})
		if err != nil {
			known = false
			continue
		}
		if slices.Equal(p.Texts("type"), []string{"null"}) {
			continue
		}
		kind := d.outlineOf(f, o, 0).kinds
		known = known && len(kind) > 0
		kinds = append(kinds, kind...)
		if len(all) <= 2 && lone == nil {
			lone = &p
		} else {
			lone = &part{}
		}
	}
	switch {
	case lone != nil && lone.Object != nil:
		d.fillOutline(out, *lone, depth, maxRefs)
	case !known:
		out.kinds = nil
	case len(out.kinds) == 0:
		slices.Sort(kinds)
		out.kinds = slices.Compact(kinds)
	}
}

// schema returns the outline as JSON Schema.
func (o *outline) schema(root bool) *tree.Object {
	out := tree.NewObject()
	switch {
	case root:
		out.Set("type", "object")
	case len(o.kinds) > 0:
		kinds := slices.Clone(o.kinds)
		if slices.Contains(kinds, "integer") && !slices.Contains(kinds, "number") {
			kinds[slices.Index(kinds, "integer")] = "number" // some programs write an integer as 1.0, or beyond the range of integers
		}
		if !slices.Contains(kinds, "null") {
			kinds = append(kinds, "null")
		}
		slices.Sort(kinds)
		out.Set("type", anyOf(slices.Compact(kinds)))
	}
	if o.text != "" {
		out.Set("description", o.text)
	}
	if len(o.names) > 0 {
		properties := tree.NewObject()
		for _, name := range o.names {
			properties.Set(name, o.properties[name].schema(false))
		}
		out.Set("properties", properties)
	}
	if o.items != nil {
		out.Set("items", o.items.schema(false))
	}
	return out
}

// check returns an error if a value does not match the outline.
func (o *outline) check(value any, at string) error {
	kind := kindOf(value)
	ok := value == nil || len(o.kinds) == 0 || slices.Contains(o.kinds, kind) || kind == "number" && slices.Contains(o.kinds, "integer")
	if !ok {
		return fmt.Errorf("%s: expected %s, got %s", strings.TrimPrefix(at, "."), strings.Join(o.kinds, " or "), kind)
	}
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			if o.items == nil {
				break
			}
			if err := o.items.check(e, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case *tree.Object:
		for _, name := range v.Names() {
			if p := o.properties[name]; p != nil {
				if err := p.check(v.Get(name), at+"."+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case tree.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
