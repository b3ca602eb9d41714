package schema

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// walker checks one text in a single pass and inserts defaults. Paths cause no cost unless there is
// a violation: each level adds its step to the paths of the violations when it returns.
type walker struct {
	raw   []byte
	work  int // remaining steps; see workFor. If negative, the walk ends
	found []Violation
	limit error // reason why the walk ended early

	filling bool   // defaults are inserted in the current value
	filled  []byte // the text with defaults, up to raw[:copied]; nil until a default is inserted
	copied  int
}

// value checks the value at w.raw[i:] and returns the index after it.
func (w *walker) value(c *check, i, depth int) int {
	i = jsonrpc.SkipSpace(w.raw, i)
	k := kindAt(w.raw, i)
	if w.work--; w.work < 0 || depth > maxValueDepth || k == 0 || len(w.found) >= maxViolations {
		return w.end(i, depth)
	}
	outer, filling := c, w.filling
	for c != nil && c.to != nil && (k != kindNull || !c.orNull) {
		w.filling = w.filling && !c.orNull // no defaults are inserted in an alternative
		c = c.to
	}
	var end int
	switch {
	case c == nil || c.to != nil:
		end, _ = jsonrpc.SkipValue(w.raw, i)
	case c.never || c.types != 0 && c.types&k == 0 && (k != kindNumber || c.types&kindInteger == 0):
		end, _ = jsonrpc.SkipValue(w.raw, i)
		w.refuse(outer, i, end)
	case k == kindObject:
		end = w.object(c, i, depth)
	case k == kindArray:
		end = w.array(c, i, depth)
	default:
		if end, _ = jsonrpc.SkipValue(w.raw, i); !w.scalar(c, k, w.raw[i:end]) {
			w.refuse(outer, i, end)
		}
	}
	w.filling = filling
	return end
}

// scalar reports whether a string, number, boolean or null is valid.
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

// text returns the content of a JSON string.
func (w *walker) text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') >= 0 || len(raw) < 2 {
		return []byte(unquote(raw))
	}
	return raw[1 : len(raw)-1]
}

// allows reports whether the enum contains a value.
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

// end ends the walk, because of too much depth, too much work, enough violations, or malformed
// JSON.
func (w *walker) end(i, depth int) int {
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
	return len(w.raw)
}

// refuse adds a violation: the value w.raw[i:end] is invalid.
func (w *walker) refuse(c *check, i, end int) {
	expected := c.describe()
	if raw := w.raw[i:end]; kindAt(raw, 0) == kindNumber && !inRange(raw) {
		expected = "a number within the range of float64"
	}
	w.add("", expected, excerpt(w.raw[i:end]))
}

func (w *walker) add(path, expected, got string) {
	if w.work >= 0 && len(w.found) < maxViolations {
		w.found = append(w.found, Violation{Path: path, Expected: expected, Got: got})
	}
}

// within prepends a step to the paths of the violations from index from on, and removes duplicates.
// base is the number of violations before the container.
func (w *walker) within(base, from int, step string) {
	kept := w.found[:from]
	for _, v := range w.found[from:] {
		if v.Path = joinPath(step, v.Path); !slices.Contains(kept[base:], v) {
			kept = append(kept, v)
		}
	}
	w.found = kept
}

func (w *walker) matches(p *pattern, text []byte) bool {
	if p == nil {
		return true
	}
	if w.work -= p.workFor(len(text)); w.work < 0 {
		w.end(0, 0)
		return false
	}
	return p.regexp.Match(text)
}

func (w *walker) array(c *check, start, depth int) int {
	n, base, i := 0, len(w.found), start+1
	for {
		i = jsonrpc.SkipSpace(w.raw, i)
		if kindAt(w.raw, i) == 0 {
			i = min(i+1, len(w.raw))
			break
		}
		before := len(w.found)
		i = jsonrpc.SkipSpace(w.raw, w.value(c.items, i, depth+1))
		if len(w.found) > before {
			w.within(base, before, indexStep(n))
		}
		n++
		if byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if !c.elements.admit(n) || c.enum != nil {
		w.refuse(c, start, i)
	}
	return i
}

func (w *walker) object(c *check, start, depth int) int {
	var few [4]uint64
	seen := few[:]
	if len(c.properties) > 64*len(few) {
		seen = make([]uint64, len(c.properties)/64+1)
	}
	n, next, required, base := 0, 0, c.required, len(w.found)
	i := start + 1
	for {
		i = jsonrpc.SkipSpace(w.raw, i)
		if byteAt(w.raw, i) != '"' {
			i = min(i+1, len(w.raw))
			break
		}
		from := i
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
		before := len(w.found)
		value := jsonrpc.SkipSpace(w.raw, jsonrpc.SkipSpace(w.raw, end)+1)
		i = jsonrpc.SkipSpace(w.raw, w.member(c, at, name, value, depth, again))
		n++
		switch {
		case len(w.found) == before:
		case w.filling && !again && at >= 0 && !c.properties[at].required && kindAt(w.raw, value) == kindNull:
			w.found = w.found[:before]
			if !w.leaveOut(c.properties[at].fallback, from, value, i) {
				n--
			}
		default:
			w.within(base, before, nameStep(string(name)))
		}
		if byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if w.filling && c.defaults > 0 && w.work >= 0 {
		n += w.fill(c, seen, n, i-1, depth)
	}
	if !c.members.admit(n) || c.enum != nil {
		w.refuse(c, start, i)
	}
	if required > 0 {
		w.missing(c, seen)
	}
	return i
}

// leaveOut treats a null as an absent member, if the member may be absent and may not be null.
// Models often send null for members that they do not want to set. If the member has a default,
// leaveOut replaces the null by it and reports true; otherwise it removes the member. The member
// begins at w.raw[from], its value begins at w.raw[value], and i is the index after it.
func (w *walker) leaveOut(fallback []byte, from, value, i int) (replaced bool) {
	if fallback != nil {
		w.filled = append(append(w.filled, w.raw[w.copied:value]...), fallback...)
		w.copied = value + len("null")
		return true
	}
	w.filled = append(w.filled, w.raw[w.copied:from]...)
	if w.copied = i; byteAt(w.raw, i) == ',' {
		w.copied++
	} else {
		w.filled = bytes.TrimSuffix(bytes.TrimRight(w.filled, " \t\r\n"), []byte(","))
	}
	return false
}

// member checks a member whose value starts at w.raw[i:]. at is its index in the properties, or -1.
func (w *walker) member(c *check, at int, name []byte, i, depth int, again bool) int {
	switch known := at >= 0 && c.properties[at].declared; {
	case again:
		w.add("", "each member once", "it twice")
	case known:
		return w.value(c.properties[at].check, i, depth+1)
	case c.closed:
		w.add("", hint(string(name), c.declared()), Unknown)
	default:
		return w.value(c.additional, i, depth+1)
	}
	return w.value(nil, i, depth+1)
}

// missing adds a violation for each required member that is absent.
func (w *walker) missing(c *check, seen []uint64) {
	for i, p := range c.properties {
		if p.required && seen[i>>6]&(1<<(i&63)) == 0 {
			w.add(nameStep(p.name), "required", Missing)
		}
	}
}

// fill inserts the defaults of absent properties before the closing brace at w.raw[brace], and
// returns their number. n is the number of members in the object.
func (w *walker) fill(c *check, seen []uint64, n, brace, depth int) (added int) {
	object := jsonrpc.NewObject(nil)
	raw, base := w.raw, len(w.found)
	w.filling = false
	for i, p := range c.properties {
		if p.fallback == nil || seen[i>>6]&(1<<(i&63)) != 0 {
			continue
		}
		seen[i>>6] |= 1 << (i & 63)
		object.Raw(p.name, p.fallback)
		added++
		before := len(w.found)
		w.raw = p.fallback
		w.value(p.check, 0, depth+1)
		w.within(base, before, nameStep(p.name))
	}
	w.raw, w.filling = raw, true
	if text := object.Bytes(); added > 0 {
		if n > 0 {
			text[0] = ',' // replaces the opening brace
		} else {
			text = text[1:]
		}
		w.filled = append(append(w.filled, raw[w.copied:brace]...), text[:len(text)-1]...)
		w.copied = brace
	}
	return added
}
