package schema

import (
	"bytes"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// walker validates one text. Without a report it stops at the first
// violation; with one it goes on and reports each.
type walker struct {
	raw    []byte
	work   int // what may still be spent; see workFor
	report *report
	limit  error // why the walk was ended early
}

// value checks the value at w.raw[i:] and returns the index behind it.
func (w *walker) value(c *check, i, depth int) (int, bool) {
	i = jsonrpc.SkipSpace(w.raw, i)
	k := kindAt(w.raw, i)
	if w.work--; w.work < 0 || depth > maxValueDepth || k == 0 {
		return w.refuseLimits(i, depth)
	}
	outer := c
	for c != nil && c.to != nil && (k != kindNull || !c.orNull) {
		c = c.to
	}
	switch {
	case c == nil || c.to != nil:
	case c.never || c.types != 0 && c.types&k == 0 && (k != kindNumber || c.types&kindInteger == 0):
		end, _ := jsonrpc.SkipValue(w.raw, i)
		return end, w.fail(outer, i, end)
	case k == kindObject:
		return w.object(c, i, depth)
	case k == kindArray:
		return w.array(c, i, depth)
	default:
		end, _ := jsonrpc.SkipValue(w.raw, i)
		return end, w.scalar(c, k, w.raw[i:end]) || w.fail(outer, i, end)
	}
	end, _ := jsonrpc.SkipValue(w.raw, i)
	return end, true
}

// scalar checks a string, number, boolean or null.
func (w *walker) scalar(c *check, k kind, raw []byte) bool {
	switch k {
	case kindString:
		w.work -= len(raw) >> 6
		if c.pattern != nil || c.length != (limits{-1, -1}) {
			if text := w.text(raw); !c.length.admit(utf8.RuneCount(text)) || !w.matches(c.pattern, text) {
				return false
			}
		}
	case kindNumber:
		_, plain := plainInt(raw)
		if !plain && (!inRange(raw) || c.types&kindInteger != 0 && !isInteger(raw)) || !c.multiple.divides(raw) ||
			c.minimum.compare(raw, 0) < 0 || c.above.compare(raw, 1) <= 0 || c.maximum.compare(raw, 0) > 0 || c.below.compare(raw, -1) >= 0 {
			return false
		}
	}
	return c.enum == nil || w.allows(c, k, raw)
}

// text returns what a string stands for.
func (w *walker) text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') >= 0 || len(raw) < 2 {
		return []byte(unquote(raw))
	}
	return raw[1 : len(raw)-1]
}

// allows reports whether a value is one of the enum.
func (w *walker) allows(c *check, k kind, raw []byte) bool {
	w.work -= len(c.enum) >> 2
	for i := range c.enum {
		if bytes.Equal(c.enum[i].raw, raw) {
			return true
		}
	}
	if k != kindString && k != kindNumber {
		return false
	}
	w.work -= len(c.enum)
	text := w.text(raw)
	for i := range c.enum {
		e := &c.enum[i]
		if kindAt(e.raw, 0) == k && (k == kindString && e.text == string(text) || k == kindNumber && exact(e.raw).Cmp(exact(raw)) == 0) {
			return true
		}
	}
	return false
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
			rest := w.raw[min(i, len(w.raw)):min(len(w.raw), i+maxExcerpt+1)]
			w.limit = &Error{Violations: []Violation{{Expected: "a JSON value", Got: clip(string(rest))}}}
		}
	}
	w.work = -1
	return len(w.raw), false
}

// fail reports that the value w.raw[i:end] does not fit; it is always false.
func (w *walker) fail(c *check, i, end int) bool {
	if w.report == nil {
		return false
	}
	expected := c.describe()
	if raw := w.raw[i:end]; kindAt(raw, 0) == kindNumber && !inRange(raw) {
		expected = "a number within the range of float64"
	}
	w.addViolation(expected, excerpt(w.raw[i:end]))
	return false
}

// addViolation reports a violation, and ends the walk when the report is full.
func (w *walker) addViolation(expected, got string) {
	w.report.add(expected, got)
	if w.report.full() {
		w.work = 0
	}
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
		i = jsonrpc.SkipSpace(w.raw, i)
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
		if i = jsonrpc.SkipSpace(w.raw, end); byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if !c.elements.admit(n) || c.enum != nil {
		valid = w.fail(c, start, i)
	}
	return i, valid
}

func (w *walker) object(c *check, start, depth int) (int, bool) {
	var few [4]uint64
	seen := few[:]
	if len(c.properties) > 64*len(few) {
		seen = make([]uint64, len(c.properties)/64+1)
	}
	n, next, required, valid := 0, 0, c.required, true
	i := start + 1
	for {
		i = jsonrpc.SkipSpace(w.raw, i)
		if byteAt(w.raw, i) != '"' {
			i = min(i+1, len(w.raw))
			break
		}
		end, _ := jsonrpc.SkipValue(w.raw, i)
		name := w.text(w.raw[i:end])
		w.work -= len(name) >> 6
		at := c.property(name, next)
		again := false
		if next = at + 1; at >= 0 {
			bit := uint64(1) << (at & 63)
			again = seen[at>>6]&bit != 0
			seen[at>>6] |= bit
			if c.properties[at].required && !again {
				required--
			}
		}
		end, ok := w.member(c, at, name, jsonrpc.SkipSpace(w.raw, end)+1, depth, again)
		if !ok {
			if valid = false; w.report == nil {
				return end, false
			}
		}
		n++
		if i = jsonrpc.SkipSpace(w.raw, end); byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if !c.members.admit(n) || c.enum != nil {
		valid = w.fail(c, start, i)
	}
	if required > 0 {
		valid = w.missing(c, seen)
	}
	return i, valid
}

// member checks one member, whose value starts at w.raw[i:]; at is its place
// among the properties, or -1.
func (w *walker) member(c *check, at int, name []byte, i, depth int, again bool) (int, bool) {
	if w.report != nil {
		w.enter(step{name: string(name), index: -1})
		defer w.leave()
	}
	known := at >= 0 && c.properties[at].declared
	switch {
	case again:
		if w.report != nil {
			w.addViolation("each member once", "it twice")
		}
	case known:
		return w.value(c.properties[at].check, i, depth+1)
	case c.closed:
		if w.report != nil {
			w.addViolation(hint(string(name), c.declared()), Unknown)
		}
	default:
		return w.value(c.additional, i, depth+1)
	}
	end, _ := w.value(nil, i, depth+1)
	return end, false
}

// missing reports each required member that was not seen; it is always false.
func (w *walker) missing(c *check, seen []uint64) bool {
	for i, p := range c.properties {
		if w.report != nil && p.required && seen[i>>6]&(1<<(i&63)) == 0 {
			w.enter(step{name: p.name, index: -1})
			w.addViolation("required", Missing)
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
