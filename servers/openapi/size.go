package openapi

import (
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// cost is what a schema comes to once each $ref is replaced by what it leads to. One that leads back to where it is counts
// once.
type cost struct{ parts, depth int }

// measure reckons the cost of a schema. Definitions are reckoned once each.
func measure(value any, defs *tree.Object) cost {
	return (&measuring{defs: defs, known: map[string]cost{}}).schema(value)
}

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
		total.parts = min(total.parts+c.parts, maxInputParts+1)
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
		switch v := o.Get(name); within[name] {
		case one:
			add(m.schema(v))
		case list:
			for _, e := range v.([]any) {
				add(m.schema(e))
			}
		case named:
			of := v.(*tree.Object)
			for _, n := range of.Names() {
				add(m.schema(of.Get(n)))
			}
		}
	}
	total.depth++
	return total
}
