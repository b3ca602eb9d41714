// Package toolschema limits the sizes of input schemas, so that all model providers accept them
// with and without references.
package toolschema

import (
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Limits of an input schema.
const (
	maxSchema = 48 << 10 // bytes
	MaxParts  = 2_000    // number of schemas, with each $ref replaced by its target
	maxDepth  = 20       // depth of nested schemas, including references
)

// A Place describes the position of schemas in the value of a keyword.
type Place int

// Positions of schemas.
const (
	None  Place = iota
	One         // the value is a schema
	List        // the value is a list of schemas
	Named       // the members of the value are schemas
)

// Within returns the position of the schemas in a keyword's value. It knows only keywords that
// accept more values if their schemas accept more.
func Within(keyword string) Place {
	switch keyword {
	case "properties", "patternProperties", "dependentSchemas":
		return Named
	case "additionalProperties", "propertyNames", "items", "contains":
		return One
	case "prefixItems", "allOf", "anyOf", "oneOf":
		return List
	}
	return None
}

// Fits reports whether a schema, with its definitions in $defs, is within the limits.
func Fits(schema *tree.Object) bool {
	m := &measuring{defs: schema.Object("$defs"), known: map[string]cost{}}
	total := m.schema(schema)
	return total.parts <= MaxParts && total.depth <= maxDepth && len(tree.Append(nil, schema)) <= maxSchema
}

// cost is the size of a schema after each $ref was replaced by its target. A recursive reference
// counts once.
type cost struct{ parts, depth int }

// measuring computes the size of one schema. It measures each definition once.
type measuring struct {
	defs  *tree.Object
	known map[string]cost
}

func (m *measuring) schema(value any) cost {
	o, ok := value.(*tree.Object)
	if !ok {
		return cost{1, 1}
	}
	total := cost{parts: 1}
	add := func(c cost) {
		total.parts = min(total.parts+c.parts, MaxParts+1)
		total.depth = max(total.depth, c.depth)
	}
	if name, ok := strings.CutPrefix(o.Text("$ref"), "#/$defs/"); ok {
		c, ok := m.known[name]
		if !ok {
			m.known[name] = cost{1, 1} // a placeholder, which ends recursion
			c = m.schema(m.defs.Get(name))
			m.known[name] = c
		}
		add(c)
	}
	for _, name := range o.Names() {
		value := o.Get(name)
		switch Within(name) {
		case One:
			add(m.schema(value))
		case List:
			list, _ := value.([]any)
			for _, e := range list {
				add(m.schema(e))
			}
		case Named:
			of, _ := value.(*tree.Object)
			for _, n := range of.Names() {
				add(m.schema(of.Get(n)))
			}
		}
	}
	total.depth++
	return total
}
