package schema

import "math/big"

// check is one schema, prepared for the one-pass walk of [walker].
type check struct {
	never bool // the schema false
	types kind // allowed types as bits, 0 for all; kindInteger only without kindNumber

	enum     []constant // nil for any value
	enumWork int        // what comparing with all of the enum costs

	enumTexts map[string]bool // set where there are many constants
	plain     bool            // all of the enum are

	minimum, maximum           *bound
	exclusiveMin, exclusiveMax *bound
	strictMin, strictMax       bool // draft 4: minimum, maximum themselves are excluded
	multiple                   *bound
	multipleOf                 *big.Rat // the exact value of multiple

	minLength, maxLength int // -1 for none, in code points
	pattern              *pattern

	minItems, maxItems int // -1 for none
	items              *check
	prefix             []*check // for the first elements; items is for the others
	tuple              bool     // items is an array; rest is for the others
	rest               *check   // additionalItems
	unique             bool
	contains           *check // nil for absent
	minContains        int
	maxContains        int // -1 for none

	members    []property
	index      map[string]int // set where there are many members
	required   memberSet
	additional *check // nil allows anything
	closed     bool   // additionalProperties: false
	minMembers int
	maxMembers int
	patterns   []patternMember
	names      *check // propertyNames
	dependents []dependent

	all, any, one   []*check
	refuse          *check // not; nil for absent
	condition       *check // if; nil for absent
	then, otherwise *check
	format          string // for messages only

	// Only the general validator checks these; see [compiler.general].
	otherItems, otherMembers *check
	dynamic                  []*check

	guided      bool // some alternative or condition constrains the value
	manyItems   bool // more than items constrains the elements
	manyMembers bool // more than properties constrains the members
}

// patternMember is one member of patternProperties.
type patternMember struct {
	pattern *pattern // nil where RE2 cannot express it, which fits any name
	check   *check
}

// dependent is what the presence of a member asks for.
type dependent struct {
	at       int // of the member
	required memberSet
	check    *check
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

// memberSet has a bit per property.
type memberSet struct {
	few  [4]uint64
	more []uint64 // from property 256 on
}

func (s *memberSet) add(i int) {
	if at := i >> 6; at < len(s.few) {
		s.few[at] |= 1 << (i & 63)
		return
	}
	at := i>>6 - len(s.few)
	for len(s.more) <= at {
		s.more = append(s.more, 0)
	}
	s.more[at] |= 1 << (i & 63)
}

func (s *memberSet) has(i int) bool {
	if at := i >> 6; at < len(s.few) {
		return s.few[at]&(1<<(i&63)) != 0
	}
	return s.later(i>>6-len(s.few))&(1<<(i&63)) != 0
}

// later is a word of more, which grows only as it must.
func (s *memberSet) later(at int) uint64 {
	if at < len(s.more) {
		return s.more[at]
	}
	return 0
}

// holds tells whether s has every bit of other.
func (s *memberSet) holds(other *memberSet) bool {
	for i := range s.few {
		if other.few[i]&^s.few[i] != 0 {
			return false
		}
	}
	for i, want := range other.more {
		if want&^s.later(i) != 0 {
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

// element is the schema of the element n of an array.
func (c *check) element(n int) *check {
	switch {
	case n < len(c.prefix):
		return c.prefix[n]
	case c.tuple:
		return c.rest
	default:
		return c.items
	}
}

// declared lists the names of the members the schema declares.
func (c *check) declared() []string {
	var list []string
	for _, p := range c.members {
		if p.declared {
			list = append(list, p.name)
		}
	}
	return list
}
