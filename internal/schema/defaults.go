package schema

import "github.com/junction-mcp/junction/internal/jsonrpc"

// ApplyDefaults inserts the schema's defaults for absent members, also in
// nested objects that are present. It returns raw itself when nothing is to
// add. A default inside an alternative (anyOf, allOf, if, ...) is not applied:
// which one counts is not known before the value is checked.
func (v *Validator) ApplyDefaults(raw []byte) []byte {
	if !v.supplies {
		return raw
	}
	if depth, _ := measure(raw); depth > maxValueDepth {
		return raw
	}
	a := &applier{raw: raw}
	a.value(v.root, jsonrpc.SkipSpace(raw, 0))
	if a.out == nil {
		return raw
	}
	return append(a.out, raw[a.copied:]...)
}

// supplies reports whether the check or one that it leads to has a default.
func (c *check) supplies(seen map[*check]bool) bool {
	if c == nil || seen[c] {
		return false
	}
	seen[c] = true
	for _, p := range c.properties {
		if p.fallback != nil || p.check.supplies(seen) {
			return true
		}
	}
	return c.items.supplies(seen) || !c.orNull && c.to.supplies(seen)
}

// applier copies a text and inserts on the way.
type applier struct {
	raw    []byte
	out    []byte // nil until something is inserted
	copied int    // how much of raw is in out
}

func (a *applier) insert(at int, text []byte) {
	a.out = append(append(a.out, a.raw[a.copied:at]...), text...)
	a.copied = at
}

// value applies defaults to the value at raw[i] and returns the index behind it.
func (a *applier) value(c *check, i int) int {
	for c != nil && c.to != nil && !c.orNull {
		c = c.to
	}
	k := kindAt(a.raw, i)
	switch {
	case c != nil && k == kindObject && c.properties != nil:
		return a.object(c, i)
	case c != nil && k == kindArray && c.items != nil:
		return a.array(c, i)
	}
	end, _ := jsonrpc.SkipValue(a.raw, i)
	return end
}

func (a *applier) array(c *check, i int) int {
	for i++; ; {
		i = jsonrpc.SkipSpace(a.raw, i)
		if kindAt(a.raw, i) == 0 {
			return min(i+1, len(a.raw))
		}
		i = jsonrpc.SkipSpace(a.raw, a.value(c.items, i))
		if byteAt(a.raw, i) == ',' {
			i++
		}
	}
}

func (a *applier) object(c *check, i int) int {
	present := make([]bool, len(c.properties))
	empty := true
	for i++; ; empty = false {
		i = jsonrpc.SkipSpace(a.raw, i)
		if byteAt(a.raw, i) != '"' {
			break
		}
		end, _ := jsonrpc.SkipValue(a.raw, i)
		var sub *check
		if at := c.property([]byte(unquote(a.raw[i:end])), 0); at >= 0 {
			present[at], sub = true, c.properties[at].check
		}
		i = jsonrpc.SkipSpace(a.raw, jsonrpc.SkipSpace(a.raw, end)+1)
		i = jsonrpc.SkipSpace(a.raw, a.value(sub, i))
		if byteAt(a.raw, i) == ',' {
			i++
		}
	}
	if i >= len(a.raw) {
		return len(a.raw)
	}
	switch missing := c.missing(present); {
	case len(missing) == len(`{}`):
	case empty:
		a.insert(i, missing[1:len(missing)-1])
	default:
		missing[0] = ',' // in place of the brace
		a.insert(i, missing[:len(missing)-1])
	}
	return i + 1
}

// missing is an object with the defaults of the properties that are not present.
func (c *check) missing(present []bool) []byte {
	w := jsonrpc.NewObject(nil)
	for at, p := range c.properties {
		if !present[at] && p.fallback != nil {
			w.Raw(p.name, p.fallback)
		}
	}
	return w.Bytes()
}
