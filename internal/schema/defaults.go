package schema

import "strings"

// defaults is what a schema supplies for absent members of objects; nil
// supplies nothing.
type defaults struct {
	values  []member             // name and default, in the schema's order
	members map[string]*defaults // what lies deeper
	items   *defaults
}

// defaultsFinder collects defaults from properties, items and local $ref.
// Alternatives (anyOf and the like) are left out: which one applies is not
// known before the value is checked.
type defaultsFinder struct {
	root []byte
	refs map[string]*defaults
}

func findDefaults(text []byte) *defaults {
	f := &defaultsFinder{root: text, refs: map[string]*defaults{}}
	d := f.at(text)
	if !d.supplies(map[*defaults]bool{}) {
		return nil
	}
	return d
}

func (f *defaultsFinder) at(raw []byte) *defaults {
	if ref := memberOf(raw, "$ref"); kindAt(ref, 0) == kindString {
		return f.follow(string(unquote(ref, true)))
	}
	d := &defaults{}
	if len(raw) == len(f.root) {
		f.refs["#"] = d
	}
	f.fill(d, raw)
	return d
}

func (f *defaultsFinder) fill(d *defaults, raw []byte) {
	if items := memberOf(raw, "items"); kindAt(items, 0) == kindObject {
		d.items = f.at(items)
	}
	list, _ := members(memberOf(raw, "properties"))
	for _, m := range list {
		if d.members == nil {
			d.members = make(map[string]*defaults, len(list))
		}
		if value := memberOf(m.value, "default"); value != nil {
			d.values = append(d.values, member{m.name, value})
		}
		d.members[string(m.name)] = f.at(m.value)
	}
}

func (f *defaultsFinder) follow(ref string) *defaults {
	if d, ok := f.refs[ref]; ok {
		return d
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(ref, "#/"+keyword+"/")
		if text := memberOf(memberOf(f.root, keyword), name); ok && text != nil {
			d := &defaults{}
			f.refs[ref] = d
			f.fill(d, text)
			return d
		}
	}
	return nil
}

// supplies tells whether any default is reachable.
func (d *defaults) supplies(seen map[*defaults]bool) bool {
	if d == nil || seen[d] {
		return false
	}
	seen[d] = true
	if len(d.values) > 0 || d.items.supplies(seen) {
		return true
	}
	for _, sub := range d.members {
		if sub.supplies(seen) {
			return true
		}
	}
	return false
}

// ApplyDefaults inserts the schema's defaults for absent members, also in
// nested objects that are present. It returns raw itself when nothing is to
// add. A default inside an alternative (anyOf, if, ...) is not applied.
func (v *Validator) ApplyDefaults(raw []byte) []byte {
	if v.defaults == nil || textDepth(raw) > maxValueDepth {
		return raw
	}
	i := skipSpace(raw, 0)
	a := &applier{raw: raw}
	a.value(v.defaults, i)
	if a.out == nil {
		return raw
	}
	return append(a.out, raw[a.copied:]...)
}

// applier copies a text and inserts on the way.
type applier struct {
	raw    []byte
	out    []byte // nil until something is inserted
	copied int    // how much of raw is in out
}

func (a *applier) insert(at int, text []byte) {
	if a.out == nil {
		a.out = make([]byte, 0, len(a.raw)+64)
	}
	a.out = append(a.out, a.raw[a.copied:at]...)
	a.out = append(a.out, text...)
	a.copied = at
}

// value applies d to the value at raw[i] and returns the index behind it.
func (a *applier) value(d *defaults, i int) int {
	if d == nil {
		return skipValue(a.raw, i)
	}
	switch kindAt(a.raw, i) {
	case kindObject:
		return a.object(d, i)
	case kindArray:
		return a.array(d, i)
	default:
		return skipValue(a.raw, i)
	}
}

func (a *applier) array(d *defaults, i int) int {
	for i++; ; {
		i = skipSpace(a.raw, i)
		if kindAt(a.raw, i) == 0 {
			return min(i+1, len(a.raw))
		}
		i = skipSpace(a.raw, a.value(d.items, i))
		if byteAt(a.raw, i) == ',' {
			i++
		}
	}
}

func (a *applier) object(d *defaults, i int) int {
	present := make([]bool, len(d.values))
	empty := true
	for i++; ; empty = false {
		i = skipSpace(a.raw, i)
		if byteAt(a.raw, i) != '"' {
			break
		}
		end, escaped := skipString(a.raw, i)
		name := unquote(a.raw[i:end], escaped)
		for k := range d.values {
			present[k] = present[k] || string(d.values[k].name) == string(name)
		}
		i = skipSpace(a.raw, skipSpace(a.raw, end)+1)
		i = skipSpace(a.raw, a.value(d.members[string(name)], i))
		if byteAt(a.raw, i) == ',' {
			i++
		}
	}
	if i >= len(a.raw) {
		return len(a.raw)
	}
	for k, m := range d.values {
		if present[k] {
			continue
		}
		text := appendQuoted(nil, string(m.name))
		text = append(append(text, ':'), m.value...)
		if !empty {
			text = append([]byte{','}, text...)
		}
		a.insert(i, text)
		empty = false
	}
	return i + 1
}

// appendQuoted appends a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}
