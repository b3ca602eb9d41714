// Package toolschema knows how large the input schema of a tool may be: within what every model's provider takes, with
// references or without.
package toolschema

import (
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// What an input schema may be.
const (
	maxSchema = 48 << 10 // bytes
	MaxParts  = 2_000    // schemas, once each $ref was replaced by what it leads to
	maxDepth  = 20       // of schemas within each other, references included
)

// A Place is where in the value of a keyword there are schemas.
type Place int

// The places.
const (
	None  Place = iota
	One         // the value is one
	List        // it is a list of them
	Named       // its members are
)

// Within says where a keyword has schemas. It knows those of which accepting more within means accepting more.
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

// Fits reports whether a schema, whose definitions are in $defs, is within the limits.
func Fits(schema *tree.Object) bool {
	m := &measuring{defs: schema.Object("$defs"), known: map[string]cost{}}
	total := m.schema(schema)
	return total.parts <= MaxParts && total.depth <= maxDepth && len(tree.Append(nil, schema)) <= maxSchema
}

// cost is what a schema comes to once each $ref is replaced by what it leads to. One that leads back to where it is counts
// once.
type cost struct{ parts, depth int }

// measuring is the work on one schema. Definitions are reckoned once each.
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
			m.known[name] = cost{1, 1} // while it is under way
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
