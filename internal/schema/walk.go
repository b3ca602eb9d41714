package schema

import (
	"bytes"
	"unicode/utf8"
)

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
	if c.enum != nil && ok && !w.allows(c, k, w.raw[i:end]) {
		ok = w.fail(c.describe(), w.raw[i:end])
	}
	return end, ok
}

// allows tells whether the value is one of the enum.
func (w *walker) allows(c *check, k kind, raw []byte) bool {
	if c.enumTexts != nil {
		w.work -= len(raw) >> 6
		if c.enumTexts[string(raw)] {
			return true
		}
	}
	for i := range c.enum[:min(len(c.enum), fewConstants)] {
		if bytes.Equal(c.enum[i].text, raw) {
			return true
		}
	}
	if k == kindString && bytes.IndexByte(raw, '\\') < 0 && c.plain {
		return false
	}
	w.work -= c.enumWork
	value, err := decodeAny(raw)
	if err != nil {
		return false
	}
	for i := range c.enum {
		if equalAny(c.enum[i].value, value) {
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
		c.exclusiveMax != nil && c.exclusiveMax.compare(raw) >= 0,
		c.multiple != nil && !c.divides(raw):
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
		end, ok := w.value(c.element(n), i, depth+1)
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
	if c.manyItems && (valid || w.report != nil) {
		valid = w.elements(c, start, i, depth) && valid
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
		if c.names != nil && !w.name(c, name, i, depth) {
			if valid = false; w.report == nil {
				return colon, false
			}
		}
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
		valid = w.missing(c, &c.required, &seen)
	}
	if c.dependents != nil && (valid || w.report != nil) {
		valid = w.dependents(c, start, depth, &seen) && valid
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
	if c.patterns != nil {
		matched, ok := w.patterns(c, name, i, depth)
		if !ok || matched && !known {
			return skipValue(w.raw, skipSpace(w.raw, i)), ok
		}
	}
	if !known && c.closed {
		if w.report != nil {
			w.tell(hint(string(name), c.declared()), Unknown)
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
func (w *walker) missing(c *check, required, seen *memberSet) bool {
	if w.report == nil {
		return false
	}
	for i, p := range c.members {
		if required.has(i) && !seen.has(i) {
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
