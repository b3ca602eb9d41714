package schema

import "slices"

// check is one schema, prepared for the one pass of [walker]; nil allows any
// value. Where the schema says more than the pass can check, the check serves
// only for messages and defaults.
type check struct {
	to     *check // another schema that has to fit too
	orNull bool   // or else the value is null

	never bool // the schema false
	types kind // allowed types as bits, 0 for all
	enum  []constant

	minimum, above            bound // above is exclusiveMinimum
	maximum, below            bound
	multiple                  bound
	length, elements, members limits // of a string, an array, an object
	pattern                   *pattern
	format                    string // for messages
	example                   string // for those about the pattern; empty: there is none that is a string

	items      *check
	properties []property
	index      map[string]int // of properties, where there are many
	required   int            // how many properties are
	defaults   int            // how many properties have one
	additional *check
	closed     bool // additionalProperties: false
}

// limits bounds a count; -1 for none.
type limits struct{ least, most int }

func (l limits) admit(n int) bool { return n >= l.least && (l.most < 0 || n <= l.most) }

// constant is one value of an enum.
type constant struct {
	raw  []byte // as written in the schema
	text string // of a string
}

// property is a member that the schema names.
type property struct {
	name     string
	check    *check
	declared bool // in properties, not only in required
	required bool
	fallback []byte // the default, nil for none
}

func newCheck() *check {
	none := limits{-1, -1}
	return &check{length: none, elements: none, members: none}
}

// target follows the references from c; nil if they lead nowhere.
func (c *check) target() *check {
	for range maxSchemaDepth {
		if c == nil || c.to == nil {
			return c
		}
		c = c.to
	}
	return nil
}

// bound returns the bound that a keyword sets; nil for other keywords.
func (c *check) bound(keyword string) *bound {
	return map[string]*bound{"minimum": &c.minimum, "maximum": &c.maximum, "exclusiveMinimum": &c.above,
		"exclusiveMaximum": &c.below, "multipleOf": &c.multiple}[keyword]
}

// count returns the count that a keyword sets; nil for other keywords.
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

// setEnum takes an enum of texts, numbers, booleans and null.
func (c *check) setEnum(list [][]byte) bool {
	if c.enum != nil {
		return false // both enum and const
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

// fewProperties is up to where a linear search is faster than a map.
const fewProperties = 8

// property finds the property of this name, trying next first because callers
// mostly keep the order of the schema; -1 for none.
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

// place finds or makes the property of this name.
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

// declared lists the names of the properties.
func (c *check) declared() (names []string) {
	for _, p := range c.properties {
		if p.declared {
			names = append(names, p.name)
		}
	}
	return names
}
