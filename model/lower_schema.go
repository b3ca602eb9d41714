package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// schemaOf lowers a schema and the schemas inside it.
func (l *lowering) schemaOf(s *members, at string, depth int) json.RawMessage {
	if l.nodes++; l.nodes > maxSchemaNodes {
		l.err = errSchemaWide
	}
	if depth > maxSchemaDepth {
		l.err = errSchemaDeep
	}
	if l.err != nil {
		return nil
	}
	var said words
	l.repair(s, at, &said)
	resolved := l.resolve(s, at, &said, false)
	l.combine(s, at, &said)
	l.enumerate(s, at, &said)
	l.types(s, at)
	if s.has("prefixItems") && !l.dialect.takes("prefixItems") {
		l.leaveOut(s, "prefixItems", at, &said)
	}
	if l.dialect.ItemsNeeded && slices.Contains(typesOf(s.get("type")), "array") && !s.has("items") {
		l.changed(at, "an array without items")
		s.set("items", json.RawMessage("{}"))
	}
	l.names(s, at, &said)
	l.filter(s, at, &said)
	l.loneAnyOf(s, &said)
	l.inner(s, at, depth)
	said.describe(s)
	l.within = l.within[:len(l.within)-resolved]
	return s.json()
}

// child lowers a schema that may be true, false or invalid.
func (l *lowering) child(raw json.RawMessage, at string, depth int) json.RawMessage {
	if s := readMembers(raw); s != nil {
		return l.schemaOf(s, at, depth+1)
	}
	if string(raw) != "true" {
		l.changed(at, "this schema cannot be sent, so anything is allowed")
	}
	return json.RawMessage("{}")
}

// inner lowers the schemas inside a schema.
func (l *lowering) inner(s *members, at string, depth int) {
	for _, name := range slices.Clone(s.names) {
		value := s.get(name)
		if value == nil {
			continue
		}
		out := l.valueOf(name, value, at+"/"+name, depth)
		if l.err != nil {
			return
		}
		s.set(name, out)
	}
}

// valueOf lowers the schemas inside the value of a keyword.
func (l *lowering) valueOf(name string, value json.RawMessage, at string, depth int) json.RawMessage {
	switch schema.PlaceOf(name) {
	case schema.One:
		if value[0] == '{' || value[0] != '[' && !strings.HasPrefix(name, "additional") {
			return l.child(value, at, depth)
		}
	case schema.List:
		list := elements(value)
		for i := range list {
			list[i] = l.child(list[i], at+"/"+strconv.Itoa(i), depth)
		}
		return listOf(list)
	case schema.Named:
		if inner := readMembers(value); inner != nil {
			for _, key := range inner.names {
				inner.set(key, l.child(inner.get(key), at+"/"+key, depth))
			}
			return inner.json()
		}
	}
	return value
}

// repair removes constructs that no dialect supports, that are valid only in old drafts, or that
// are invalid in every draft that providers check.
func (l *lowering) repair(s *members, at string, said *words) {
	if s == nil {
		return
	}
	for name, first := range mustBegin {
		if v := s.get(name); v != nil && (v[0] != first || first == '[' && name != "required" && len(elements(v)) == 0) {
			s.drop(name)
			l.changed(at, name+" is not "+map[byte]string{'[': "a list of something", '{': "an object", '"': "a text"}[first])
		}
	}
	l.repairItems(s, at)
	for _, name := range []string{"exclusiveMinimum", "exclusiveMaximum"} { // booleans in draft 4
		if v := s.get(name); v != nil && (v[0] == 't' || v[0] == 'f') {
			s.drop(name)
			l.changed(at, name+" is no number")
		}
	}
	if one := s.get("oneOf"); one != nil && !s.has("anyOf") {
		l.changed(at, "oneOf")
		delete(s.values, "oneOf")
		s.values["anyOf"] = one
		s.names[slices.Index(s.names, "oneOf")] = "anyOf"
	}
	for _, name := range slices.Clone(s.names) {
		if keywords[name].never {
			l.leaveOut(s, name, at, said)
		}
	}
	if l.dialect.Nullable && string(s.get("nullable")) != "true" {
		s.drop("nullable")
	}
	if t := s.get("type"); t != nil && (len(typesOf(t)) == 0 || t[0] == '[' && len(typesOf(t)) != len(elements(t))) {
		l.changed(at, "type "+short(t)+" is not known")
		s.drop("type") // the unknown type may allow anything
	}
}

// mustBegin holds the first byte of values, for keywords whose values have the same JSON type in
// every draft.
var mustBegin = map[string]byte{
	"description": '"', "required": '[', "enum": '[', "anyOf": '[', "oneOf": '[', "allOf": '[', "prefixItems": '[',
	"properties": '{', "patternProperties": '{', "$defs": '{', "definitions": '{', "dependentSchemas": '{',
}

// repairItems converts a list in items, as in old drafts, to prefixItems.
func (l *lowering) repairItems(s *members, at string) {
	v := s.get("items")
	if v == nil || v[0] != '[' {
		return
	}
	l.changed(at, "items is a list")
	s.drop("items")
	if len(elements(v)) > 0 {
		s.set("prefixItems", v)
	}
	if rest := s.get("additionalItems"); rest != nil {
		s.set("items", rest)
		s.drop("additionalItems")
	}
}

// types replaces lists of types if the dialect does not support them.
func (l *lowering) types(s *members, at string) {
	types := typesOf(s.get("type"))
	if !l.dialect.Nullable || len(types) == 0 || s.get("type")[0] == '"' && types[0] != "null" {
		return
	}
	if i := slices.Index(types, "null"); i >= 0 {
		s.set("nullable", json.RawMessage("true"))
		types = slices.Delete(types, i, i+1)
	}
	l.changed(at, "a list of types")
	switch {
	case len(types) == 1:
		s.set("type", textList(types)[1:len(textList(types))-1])
	case len(types) == 0 || s.has("anyOf"):
		s.drop("type")
	default:
		var each []json.RawMessage
		for _, t := range types {
			one := noMembers()
			one.set("type", jsonrpc.AppendString(nil, t))
			each = append(each, one.json())
		}
		s.set("anyOf", listOf(each))
	}
}

// names checks the names of properties, and removes required names that have no property.
func (l *lowering) names(s *members, at string, said *words) {
	properties := readMembers(s.get("properties"))
	if properties != nil && l.dialect.PropertyNames {
		for _, name := range slices.Clone(properties.names) {
			if !isPortableProperty(name) {
				l.changed(at, "a property without a portable name")
				said.add("also takes " + string(textList([]string{name})) + ": " + short(properties.get(name)))
				properties.drop(name)
				s.drop("additionalProperties")
			}
		}
		s.set("properties", properties.json())
	}
	required := s.get("required")
	if required == nil {
		return
	}
	var there []string
	for _, name := range textsOf(required) {
		known := properties != nil && properties.has(name) || l.dialect.Keywords == nil
		takes := !l.dialect.PropertyNames || isPortableProperty(name)
		if known && takes && !slices.Contains(there, name) {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		s.drop("required")
		return
	}
	s.set("required", textList(there))
}

// isPortableProperty reports whether every provider accepts the name of a property.
func isPortableProperty(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !isLetter(r) && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// combine rewrites combinations that the dialect does not support.
func (l *lowering) combine(s *members, at string, said *words) {
	if !l.dialect.takes("allOf") {
		l.mergeAll(s, at, "allOf", said)
	}
	if l.dialect.Nullable && s.has("anyOf") {
		l.withoutNull(s, at, said)
	}
	if l.dialect.LoneAnyOf && s.has("anyOf") && (s.has("properties") || slices.Contains(typesOf(s.get("type")), "object")) {
		l.widen(s, at, said)
	}
}

// mergeAll merges the schemas in allOf into s, repeatedly if they have allOf too.
func (l *lowering) mergeAll(s *members, at, what string, said *words) {
	for range maxFollowed {
		all := elements(s.get("allOf"))
		if all == nil {
			return
		}
		s.drop("allOf")
		l.changed(at, what)
		for _, raw := range all {
			l.merge(s, l.alternative(raw, at, said), said)
		}
	}
	l.leaveOut(s, "allOf", at, said)
}

// withoutNull removes null from the alternatives of a schema and makes the schema nullable.
func (l *lowering) withoutNull(s *members, at string, said *words) {
	var left []json.RawMessage
	for _, raw := range elements(s.get("anyOf")) {
		if m := readMembers(raw); m != nil && string(m.get("type")) == `"null"` {
			s.set("nullable", json.RawMessage("true"))
			continue
		}
		left = append(left, raw)
	}
	switch len(left) {
	case 0:
		s.drop("anyOf")
	case 1:
		s.drop("anyOf")
		l.merge(s, l.alternative(left[0], at, said), said)
	default:
		s.set("anyOf", listOf(left))
	}
}

// alternative parses a schema that will be merged into another. It follows references.
func (l *lowering) alternative(raw json.RawMessage, at string, said *words) *members {
	s := readMembers(raw)
	if s == nil {
		return noMembers()
	}
	return l.follow(s, at, said)
}

// merge adds the members of a second schema that applies as well. If both have a member, the first
// stays and the second is described in words. The first alone accepts at least the values that both
// accept.
func (l *lowering) merge(s, more *members, said *words) {
	inOrder := s.has("prefixItems")
	for _, name := range more.names {
		value := more.get(name)
		switch {
		case keywords[name].place, name == "items" && inOrder: // these keywords depend on the place or the position of the other schema
		case !s.has(name):
			s.set(name, value)
		case name == "properties" || name == "patternProperties":
			s.set(name, union(readMembers(s.get(name)), readMembers(value)))
		case name == "required":
			s.set(name, textList(append(textsOf(s.get(name)), textsOf(value)...)))
		case name == "additionalProperties" && string(s.get(name)) == "false":
			s.set(name, value)
		case name != "description" && string(s.get(name)) != string(value):
			said.add(inWords(name, value))
		}
	}
}

func union(a, b *members) json.RawMessage {
	if a == nil {
		a = noMembers()
	}
	if b != nil {
		for _, name := range b.names {
			if !a.has(name) {
				a.set(name, b.get(name))
			}
		}
	}
	return a.json()
}

// flatten removes combinations from the root, because some providers refuse them there.
func (l *lowering) flatten(s *members) {
	var said words
	l.mergeAll(s, "", "allOf at the root", &said)
	l.widen(s, "", &said)
	for _, name := range []string{"enum", "const"} {
		if v := s.get(name); v != nil {
			l.changed("", name+" at the root")
			said.add(name + " " + short(v))
			s.drop(name)
		}
	}
	said.describe(s)
}

// widen replaces alternatives by one object that accepts all of them. The object has the properties
// of all alternatives, and requires those that all require.
func (l *lowering) widen(s *members, at string, said *words) {
	list := elements(s.get("anyOf"))
	s.drop("anyOf")
	if len(list) == 0 {
		return
	}
	l.changed(at, "alternatives of objects")
	var required, texts []string
	var forms, properties []*members
	for i, raw := range list {
		f := l.alternative(raw, at, &words{})
		of := readMembers(f.get("properties"))
		needs := textsOf(f.get("required"))
		if i == 0 {
			required = slices.Clone(needs)
		}
		required = slices.DeleteFunc(required, func(n string) bool { return !slices.Contains(needs, n) })
		if len(needs) == 0 && of != nil {
			needs = of.names
		}
		texts = append(texts, "{"+strings.Join(needs, ", ")+"}")
		forms, properties = append(forms, f), append(properties, of)
	}
	said.add("one of these forms: " + short(json.RawMessage(strings.Join(texts, " or "))))
	l.offer(s, forms, properties)
	if len(required) > 0 {
		s.set("required", textList(append(textsOf(s.get("required")), required...)))
	}
}

// offer adds the properties of all forms to an object.
func (l *lowering) offer(s *members, forms, properties []*members) {
	offered := noMembers()
	for _, of := range properties {
		if of == nil {
			continue
		}
		for _, name := range of.names {
			if !offered.has(name) {
				offered.set(name, l.common(forms, properties, name))
			}
		}
	}
	s.set("properties", union(readMembers(s.get("properties")), offered))
}

// common returns a schema for a property that accepts the values of all forms. If a form does not
// mention the property, the result accepts anything.
func (l *lowering) common(forms, properties []*members, name string) json.RawMessage {
	var each []json.RawMessage
	open := false
	for i, of := range properties {
		value := of.get(name)
		switch {
		case value == nil:
			open = open || string(forms[i].get("additionalProperties")) != "false" || forms[i].has("patternProperties")
		case !slices.ContainsFunc(each, func(v json.RawMessage) bool { return string(v) == string(value) }):
			each = append(each, value)
		}
	}
	out := noMembers()
	switch {
	case !open && len(each) == 1:
		return each[0]
	case !open && l.dialect.takes("anyOf"):
		out.set("anyOf", listOf(each))
		return out.json()
	}
	var said words
	for _, raw := range each {
		m := readMembers(raw)
		if d := m.get("description"); d != nil {
			out.set("description", d)
			m.drop("description")
		}
		if m != nil && len(m.names) > 0 {
			said.add("in one form " + short(m.json()))
		}
	}
	said.describe(out)
	return out.json()
}

// loneAnyOf removes all keywords next to anyOf. The description moves into the alternatives without
// one, and words describe the other keywords.
func (l *lowering) loneAnyOf(s *members, said *words) {
	list := elements(s.get("anyOf"))
	if !l.dialect.LoneAnyOf || list == nil || len(s.names) == 1 && len(said.list) == 0 {
		return
	}
	for _, name := range s.names {
		if name != "anyOf" && name != "description" && name != "nullable" && name != "type" {
			said.add(inWords(name, s.get(name)))
		}
	}
	said.describe(s)
	for i, raw := range list {
		b := readMembers(raw)
		if b == nil {
			continue
		}
		for _, name := range []string{"type", "description", "nullable"} {
			if v := s.get(name); v != nil && !b.has(name) {
				b.set(name, v)
			}
		}
		list[i] = b.json()
	}
	*s = *noMembers()
	s.set("anyOf", listOf(list))
}

// maxFollowed is the maximum length of a chain of references.
const maxFollowed = 16

// resolve replaces $ref by its target. It does so if always is set, if the dialect has no
// references, or if the rewritten root will lack the target. It pushes the followed references onto
// l.within and returns their number.
func (l *lowering) resolve(s *members, at string, said *words, always bool) int {
	resolved := 0
	for s.has("$ref") && resolved < maxFollowed {
		ref, _ := textOf(s.get("$ref"))
		target := l.target(ref)
		if target != nil && !always && !l.mustInline(ref) {
			return resolved
		}
		s.drop("$ref")
		l.repair(target, at, said)
		switch {
		case target == nil:
			l.changed(at, "$ref "+short(json.RawMessage(ref))+" leads nowhere, so anything is allowed")
			return resolved
		case slices.Contains(l.within, ref):
			l.changed(at, "$ref "+ref+" is recursive and was cut")
			said.add("again " + ref[strings.LastIndexByte(ref, '/')+1:])
			if t := target.get("type"); t != nil && !s.has("type") {
				s.set("type", t)
			}
			return resolved
		}
		l.changed(at, "$ref "+ref)
		l.within = append(l.within, ref)
		resolved++
		l.merge(s, target, said)
	}
	if resolved == maxFollowed {
		s.drop("$ref")
	}
	return resolved
}

// mustInline reports whether a reference has to be replaced by its target.
func (l *lowering) mustInline(ref string) bool {
	if named := ref != "#" && !strings.HasPrefix(ref, "#/"); l.dialect.NoRefs || named && !l.dialect.takes("$anchor") {
		return true
	}
	name, stays := strings.CutPrefix(ref, "#/$defs/")
	if !stays {
		name, stays = strings.CutPrefix(ref, "#/definitions/")
	}
	return (l.dialect.PlainRoot || l.typed) && (!stays || strings.Contains(name, "/"))
}

// follow returns a schema merged with the targets of its references.
func (l *lowering) follow(s *members, at string, said *words) *members {
	s = &members{names: slices.Clone(s.names), values: maps.Clone(s.values)}
	l.repair(s, at, said)
	resolved := l.resolve(s, at, said, true)
	l.within = l.within[:len(l.within)-resolved]
	return s
}

// maxResolved is the maximum total size in bytes of the targets of all references.
const maxResolved = 4 << 20

// target returns the schema in this document to which a reference leads, or nil.
func (l *lowering) target(ref string) *members {
	here := l.root.Target(ref).Raw()
	if l.resolved += len(here); l.resolved > maxResolved {
		l.err = errSchemaWide
		return nil
	}
	return readMembers(here)
}
