package schema

// check is one schema, prepared for the one-pass walk of [walker].
type check struct {
	never bool // the schema false
	types kind // allowed types as bits, 0 for all; kindInteger only without kindNumber

	enum     []constant // nil for any value
	enumWork int        // what comparing with all of the enum costs

	minimum, maximum           *bound
	exclusiveMin, exclusiveMax *bound

	minLength, maxLength int // -1 for none, in code points
	pattern              *pattern

	minItems, maxItems int // -1 for none
	items              *check

	members    []property
	index      map[string]int // set where there are many members
	required   memberSet
	additional *check // nil allows anything
	closed     bool   // additionalProperties: false
	minMembers int
	maxMembers int

	all, any, one []*check
	refuse        *check // not
	format        string // for messages only

	guided bool // some member, element or alternative constrains the value
}

// property is a member the schema names.
type property struct {
	name     string
	check    *check // nil where any value will do
	declared bool   // in properties, not only in required
}

// constant is one value of enum or const.
type constant struct {
	text  []byte // as written in the schema
	value any    // decoded
	plain bool   // not a string with escapes, which has other texts
}

// maxMembers is how many names one object schema may mention in the fast
// validator; larger schemas go to the general one.
const maxMembers = 256

// memberSet has a bit per property.
type memberSet [maxMembers / 64]uint64

func (s *memberSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s *memberSet) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// holds tells whether s has every bit of other.
func (s *memberSet) holds(other *memberSet) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

// fewMembers is up to where a linear search beats a map.
const fewMembers = 8

// member finds the property of this name, trying next first because callers
// mostly keep the order of the schema; -1 for none.
func (c *check) member(name []byte, next int) int {
	if next < len(c.members) && c.members[next].name == string(name) {
		return next
	}
	if c.index != nil {
		if i, ok := c.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range c.members {
		if c.members[i].name == string(name) {
			return i
		}
	}
	return -1
}

// accepts tells whether a value of this type may fit at all.
func (c *check) accepts(k kind) bool {
	if c.never {
		return false
	}
	for _, sub := range c.all {
		if sub != nil && !sub.accepts(k) {
			return false
		}
	}
	return c.types == 0 || c.types&k != 0 || k == kindNumber && c.types&kindInteger != 0
}

func (c *check) plainEnum() bool {
	for i := range c.enum {
		if !c.enum[i].plain {
			return false
		}
	}
	return true
}

// names lists the members the schema declares.
func (c *check) names() []string {
	var list []string
	for _, p := range c.members {
		if p.declared {
			list = append(list, p.name)
		}
	}
	return list
}
