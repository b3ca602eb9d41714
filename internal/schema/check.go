package schema

import (
	"bytes"
	"unicode/utf8"
)

// check is one schema, prepared for the one-pass walk of [walker].
type check struct {
	never bool // the schema false
	types kind // allowed types as bits, 0 for all; kindInteger only without kindNumber

	enum     []constant // nil for any value
	enumWork int        // what a search of the enum costs

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
	plain bool   // a string whose text needs no escapes
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

// walker validates one text. Without a report it stops at the first
// violation; with one it goes on and tells each.
type walker struct {
	raw    []byte
	work   int // what may still be spent; see workFor
	report *report
	limit  error // why the walk was ended early
}

// value checks the value at w.raw[i:] and returns the index behind it.
func (w *walker) value(c *check, i, depth int) (int, bool) {
	i = skipSpace(w.raw, i)
	k := kindAt(w.raw, i)
	if w.work--; w.work < 0 || depth > maxValueDepth || k == 0 {
		return w.refuseLimits(i, depth)
	}
	if c == nil {
		return skipValue(w.raw, i), true
	}
	if c.never {
		end := skipValue(w.raw, i)
		return end, w.fail("no value here", w.raw[i:end])
	}
	if c.types != 0 && c.types&k == 0 && (k != kindNumber || c.types&kindInteger == 0) {
		end := skipValue(w.raw, i)
		return end, w.fail(c.describe(), w.raw[i:end])
	}
	end, ok := w.typed(c, k, i, depth)
	if c.guided && (ok || w.report != nil) {
		ok = w.combined(c, i, end, depth) && ok
	}
	return end, ok
}

func (w *walker) typed(c *check, k kind, i, depth int) (end int, ok bool) {
	switch k {
	case kindObject:
		end, ok = w.object(c, i, depth)
	case kindArray:
		end, ok = w.array(c, i, depth)
	case kindString:
		end, ok = w.str(c, i)
	case kindNumber:
		end, ok = w.number(c, i)
	default:
		end, ok = skipScalar(w.raw, i), true
	}
	w.work -= c.enumWork
	if c.enum != nil && ok && !c.allows(k, w.raw[i:end]) {
		ok = w.fail(c.describe(), w.raw[i:end])
	}
	return end, ok
}

// refuseLimits ends the walk: too deep, too much work, or no JSON at all.
func (w *walker) refuseLimits(i, depth int) (int, bool) {
	if w.limit == nil {
		switch {
		case depth > maxValueDepth:
			w.limit = tooDeep()
		case w.work < 0:
			w.limit = tooMuchWork()
		default:
			w.limit = &Error{Violations: []Violation{{Expected: "a JSON value", Got: clip(string(w.raw[min(i, len(w.raw)):min(len(w.raw), i+maxExcerpt+1)]))}}}
		}
	}
	w.work = -1
	return len(w.raw), false
}

// fail reports a violation, if anyone listens; it is always false.
func (w *walker) fail(expected string, got []byte) bool {
	if w.report != nil {
		w.tell(expected, excerpt(got))
	}
	return false
}

// tell reports a violation, and ends the walk when the report is full.
func (w *walker) tell(expected, got string) {
	w.report.add(expected, got)
	if w.report.full() {
		w.work = 0
	}
}

func (w *walker) number(c *check, i int) (int, bool) {
	end := skipScalar(w.raw, i)
	raw := w.raw[i:end]
	if !inRange(raw) {
		return end, w.fail("a number within the range of float64", raw)
	}
	switch {
	case c.types&(kindNumber|kindInteger) == kindInteger && !isInteger(raw),
		c.minimum != nil && c.minimum.compare(raw) < 0,
		c.maximum != nil && c.maximum.compare(raw) > 0,
		c.exclusiveMin != nil && c.exclusiveMin.compare(raw) <= 0,
		c.exclusiveMax != nil && c.exclusiveMax.compare(raw) >= 0:
		return end, w.fail(c.describe(), raw)
	}
	return end, true
}

func (w *walker) str(c *check, i int) (int, bool) {
	end, escaped := skipString(w.raw, i)
	w.work -= (end - i) >> 6
	if c.minLength < 0 && c.maxLength < 0 && c.pattern == nil {
		return end, true
	}
	text := unquote(w.raw[i:end], escaped)
	n := utf8.RuneCount(text)
	if n < c.minLength || c.maxLength >= 0 && n > c.maxLength || !w.matches(c.pattern, text) {
		return end, w.fail(c.describe(), w.raw[i:end])
	}
	return end, true
}

func (w *walker) matches(p *pattern, text []byte) bool {
	if p == nil {
		return true
	}
	if w.work -= p.workFor(len(text)); w.work < 0 {
		w.refuseLimits(0, 0)
		return false
	}
	return p.regexp.Match(text)
}

func (w *walker) array(c *check, start, depth int) (int, bool) {
	n, valid := 0, true
	i := start + 1
	for {
		i = skipSpace(w.raw, i)
		if kindAt(w.raw, i) == 0 {
			i = min(i+1, len(w.raw))
			break
		}
		w.enter(step{index: n})
		end, ok := w.value(c.items, i, depth+1)
		w.leave()
		if !ok {
			if valid = false; w.report == nil {
				return end, false
			}
		}
		n++
		if i = skipSpace(w.raw, end); byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if n < c.minItems || c.maxItems >= 0 && n > c.maxItems {
		valid = w.fail(c.describe(), w.raw[start:i])
	}
	return i, valid
}

func (w *walker) object(c *check, start, depth int) (int, bool) {
	var seen memberSet
	n, next, valid := 0, 0, true
	i := start + 1
	for {
		i = skipSpace(w.raw, i)
		if byteAt(w.raw, i) != '"' {
			i = min(i+1, len(w.raw))
			break
		}
		end, escaped := skipString(w.raw, i)
		name := unquote(w.raw[i:end], escaped)
		w.work -= (end - i) >> 6
		at := c.member(name, next)
		next = at + 1
		colon := skipSpace(w.raw, end)
		end, ok := w.member(c, at, name, colon+1, depth, &seen)
		if !ok {
			if valid = false; w.report == nil {
				return end, false
			}
		}
		n++
		if i = skipSpace(w.raw, end); byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if n < c.minMembers || c.maxMembers >= 0 && n > c.maxMembers {
		valid = w.fail(c.describe(), w.raw[start:i])
	}
	if !seen.holds(&c.required) {
		valid = w.missing(c, &seen)
	}
	return i, valid
}

// member checks one member, whose value starts at w.raw[i:]; at is its place
// among the properties, or -1.
func (w *walker) member(c *check, at int, name []byte, i, depth int, seen *memberSet) (int, bool) {
	if w.report != nil {
		w.enter(step{name: string(name), index: -1})
		defer w.leave()
	}
	sub := c.additional
	known := at >= 0 && c.members[at].declared
	if at >= 0 {
		if seen.has(at) {
			end, _ := w.value(nil, i, depth+1)
			return end, w.failTwice()
		}
		seen.add(at)
	}
	if known {
		sub = c.members[at].check
	}
	if !known && c.closed {
		if w.report != nil {
			w.tell(hint(string(name), c.names()), Unknown)
		}
		end, _ := w.value(nil, i, depth+1)
		return end, false
	}
	return w.value(sub, i, depth+1)
}

func (w *walker) failTwice() bool {
	if w.report != nil {
		w.tell("each member once", "it twice")
	}
	return false
}

// missing reports each required member that was not seen.
func (w *walker) missing(c *check, seen *memberSet) bool {
	if w.report == nil {
		return false
	}
	for i, p := range c.members {
		if c.required.has(i) && !seen.has(i) {
			w.enter(step{name: p.name, index: -1})
			w.tell("required", Missing)
			w.leave()
		}
	}
	return false
}

func (w *walker) enter(s step) {
	if w.report != nil {
		w.report.path = append(w.report.path, s)
	}
}

func (w *walker) leave() {
	if w.report != nil {
		w.report.path = w.report.path[:len(w.report.path)-1]
	}
}

// combined checks what the combining keywords ask of the value w.raw[i:end].
func (w *walker) combined(c *check, i, end, depth int) bool {
	ok := true
	for _, sub := range c.all {
		if _, fits := w.value(sub, i, depth); !fits {
			if ok = false; w.report == nil {
				return false
			}
		}
	}
	if c.any != nil && w.matching(c.any, i, depth, 1) == 0 {
		ok = w.failAlternatives(c.any, i, end, depth)
	}
	if c.one != nil {
		switch w.matching(c.one, i, depth, 2) {
		case 0:
			ok = w.failAlternatives(c.one, i, end, depth)
		case 2:
			ok = w.fail("a value that fits exactly one of: "+describeAll(c.one), w.raw[i:end])
		}
	}
	if c.refuse != nil && w.matching([]*check{c.refuse}, i, depth, 1) != 0 {
		ok = w.fail("anything but "+c.refuse.describe(), w.raw[i:end])
	}
	return ok && w.work >= 0
}

// matching counts the alternatives that fit, up to enough.
func (w *walker) matching(list []*check, i, depth, enough int) (n int) {
	report := w.report
	w.report = nil
	for _, sub := range list {
		if _, ok := w.value(sub, i, depth); ok && w.work >= 0 {
			if n++; n == enough {
				break
			}
		}
	}
	w.report = report
	return n
}

// failAlternatives reports that no alternative fits. Where only one is of the
// value's type, what is wrong with that one says more than the list of all.
func (w *walker) failAlternatives(list []*check, i, end, depth int) bool {
	if w.report == nil {
		return false
	}
	var near *check
	k := kindAt(w.raw, i)
	for _, sub := range list {
		if sub != nil && sub.accepts(k) {
			if near != nil {
				return w.fail(describeAll(list), w.raw[i:end])
			}
			near = sub
		}
	}
	if near == nil {
		return w.fail(describeAll(list), w.raw[i:end])
	}
	w.value(near, i, depth)
	return false
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

// allows tells whether the value is one of the enum.
func (c *check) allows(k kind, raw []byte) bool {
	for i := range c.enum {
		if bytes.Equal(c.enum[i].text, raw) {
			return true
		}
	}
	if k == kindString && bytes.IndexByte(raw, '\\') < 0 && c.plainEnum() {
		return false
	}
	for i := range c.enum {
		if kindAt(c.enum[i].text, 0) == k && equalJSON(c.enum[i].text, raw) {
			return true
		}
	}
	return false
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
