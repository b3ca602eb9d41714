package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// combine does without the combinations that the dialect does not have.
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

// mergeAll merges the schemas of allOf, and of the allOf that those have.
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

// withoutNull makes a schema nullable instead of null an alternative.
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

// alternative reads a schema that becomes part of another; references are followed
// as far as they lead to others.
func (l *lowering) alternative(raw json.RawMessage, at string, said *words) *members {
	s := readMembers(raw)
	if s == nil {
		return noMembers()
	}
	return l.follow(s, at, said)
}

// merge adds the members of another schema that holds as well. Where both say
// something of the same the first is kept, which accepts no less than both, and the
// second is put into words.
func (l *lowering) merge(s, more *members, said *words) {
	inOrder := s.has("prefixItems")
	for _, name := range more.names {
		value := more.get(name)
		switch {
		case keywords[name].place, name == "items" && inOrder: // which would be about others
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

// flatten takes the combinations from the root, which some providers refuse there.
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

// widen makes one object of alternatives that accepts what any of them does: it has
// the properties of all, and requires what all require.
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

// offer gives an object the properties of all forms.
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

// common is a schema for a property that accepts what any of the forms does. One
// that a form does not describe may be anything there.
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

// loneAnyOf leaves nothing next to anyOf: the description goes into the alternatives
// that have none, and what else there is becomes words.
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
