package schema

import "slices"

// check is a compiled schema for the single pass of [walker]. A nil check allows any value. If the
// schema has rules that the single pass cannot check, the check is used only for messages and
// defaults.
type check struct {
	to     *check // another check that must accept the value too
	orNull bool   // null is accepted without applying to

	never bool // compiled from the schema false
	types kind // set of allowed types; 0 means all types
	enum  []constant

	minimum, above            bound // above is the value of exclusiveMinimum
	maximum, below            bound
	multiple                  bound
	length, elements, members limits // limits of the length of a string, an array and an object
	pattern                   *pattern
	format                    string // used only in messages
	example                   string // used only in messages about the pattern; empty if there is no example that is a string

	items      *check
	properties []property
	index      map[string]int // indexes of properties by name; nil if there are few
	required   int            // number of required properties
	defaults   int            // number of properties with a default
	additional *check
	closed     bool // additionalProperties: false
}

// limits contains the bounds of a count. -1 means that there is no upper bound.
type limits struct{ least, most int }

func (l limits) admit(n int) bool { return n >= l.least && (l.most < 0 || n <= l.most) }

// constant is one value of an enum.
type constant struct {
	raw  []byte // text in the schema
	text string // value, if it is a string
}

// property is a member that the schema names.
type property struct {
	name     string
	check    *check
	declared bool // listed in properties, and not only in required
	required bool
	fallback []byte // the default; nil if there is none
}

func newCheck() *check {
	none := limits{-1, -1}
	return &check{length: none, elements: none, members: none}
}

// target follows the references of c. It returns nil if they form a cycle or a chain that is too
// long.
func (c *check) target() *check {
	for range maxSchemaDepth {
		if c == nil || c.to == nil {
			return c
		}
		c = c.to
	}
	return nil
}

// bound returns the bound that a keyword sets. It returns nil for other keywords.
func (c *check) bound(keyword string) *bound {
	return map[string]*bound{"minimum": &c.minimum, "maximum": &c.maximum, "exclusiveMinimum": &c.above,
		"exclusiveMaximum": &c.below, "multipleOf": &c.multiple}[keyword]
}

// count returns the count that a keyword sets. It returns nil for other keywords.
func (c *check) count(keyword string) *int {
	return map[string]*int{"minLength": &c.length.least, "maxLength": &c.length.most, "minItems": &c.elements.least,
		"maxItems": &c.elements.most, "minProperties": &c.members.least, "maxProperties": &c.members.most}[keyword]
}

func (c *check) setTypes(raw []byte) bool {
	list, ok := elements(raw)
	if !ok {
		list = [][]byte{raw}
	}
	for _, text := range list {
		at := slices.IndexFunc(typeNames[:], func(t typeName) bool { return t.name == unquote(text) })
		if at < 0 {
			return false
		}
		c.types |= typeNames[at].kind
	}
	if c.types&kindNumber != 0 {
		c.types &^= kindInteger
	}
	return c.types != 0
}

// setEnum sets an enum of strings, numbers, booleans and null. If the list contains another value,
// it reports false.
func (c *check) setEnum(list [][]byte) bool {
	if c.enum != nil {
		return false // the schema has both enum and const
	}
	enum := make([]constant, len(list))
	for i, raw := range list {
		if k := kindAt(raw, 0); k == kindArray || k == kindObject || k == kindNumber && !inRange(raw) {
			return false
		}
		enum[i] = constant{raw, unquote(raw)}
	}
	c.enum = enum
	return true
}

func (c *check) setRequired(raw []byte) bool {
	list, ok := elements(raw)
	for _, text := range list {
		if p := c.place(unquote(text)); !p.required {
			p.required = true
			c.required++
		}
	}
	return ok
}

// fewProperties is the number of properties up to which a linear search is faster than a map.
const fewProperties = 8

// property returns the index of the property with a name, or -1. It compares the property at index
// next first, because callers mostly preserve the order of the schema.
func (c *check) property(name []byte, next int) int {
	if next < len(c.properties) && c.properties[next].name == string(name) {
		return next
	}
	if c.index != nil {
		if i, ok := c.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range c.properties {
		if c.properties[i].name == string(name) {
			return i
		}
	}
	return -1
}

// place returns the property with a name, and adds it if it is missing.
func (c *check) place(name string) *property {
	if i := c.property([]byte(name), 0); i >= 0 {
		return &c.properties[i]
	}
	c.properties = append(c.properties, property{name: name})
	if n := len(c.properties); n > fewProperties {
		if c.index == nil {
			c.index = map[string]int{}
			for i, p := range c.properties {
				c.index[p.name] = i
			}
		}
		c.index[name] = n - 1
	}
	return &c.properties[len(c.properties)-1]
}

// declared returns the names of the properties that are listed in the schema's properties.
func (c *check) declared() (names []string) {
	for _, p := range c.properties {
		if p.declared {
			names = append(names, p.name)
		}
	}
	return names
}
