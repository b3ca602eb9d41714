package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxAlternatives is how many alternatives are described in words.
const maxAlternatives = 6

// combine does without the combinations that the dialect does not have.
func (l *lowering) combine(s *members, at string, said *words) {
	if all := elements(s.get("allOf")); all != nil && !l.takes("allOf") {
		s.drop("allOf")
		l.changed(at, "allOf")
		for _, raw := range all {
			l.merge(s, l.alternative(raw))
		}
	}
	if one := s.get("oneOf"); one != nil && !l.takes("oneOf") {
		s.drop("oneOf")
		l.changed(at, "oneOf")
		if s.has("anyOf") {
			said.add("exactly one of " + short(one))
		} else {
			s.set("anyOf", one)
		}
	}
	if l.dialect.Nullable && s.has("anyOf") {
		l.withoutNull(s)
	}
	if l.dialect.LoneAnyOf && s.has("anyOf") && (s.has("properties") || slices.Contains(typesOf(s.get("type")), "object")) {
		l.flattenOne(s, "anyOf", at, said)
	}
}

// withoutNull makes a schema nullable instead of null an alternative.
func (l *lowering) withoutNull(s *members) {
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
		l.merge(s, l.alternative(left[0]))
	default:
		s.set("anyOf", listOf(left))
	}
}

// alternative reads a schema that becomes part of another; references are followed
// as far as they lead to others.
func (l *lowering) alternative(raw json.RawMessage) *members {
	s := readMembers(raw)
	if s == nil {
		return &members{values: map[string]json.RawMessage{}}
	}
	return l.follow(s)
}

// merge adds the members of another schema that holds as well. Where both say
// something of the same, the first is kept, which accepts no less than both.
func (l *lowering) merge(s, more *members) {
	for _, name := range more.names {
		value := more.get(name)
		switch {
		case !s.has(name):
			s.set(name, value)
		case name == "properties":
			s.set(name, union(readMembers(s.get(name)), readMembers(value)))
		case name == "required":
			s.set(name, textList(append(textsOf(s.get(name)), textsOf(value)...)))
		case name == "additionalProperties" && string(s.get(name)) == "false":
			s.set(name, value)
		}
	}
}

func union(a, b *members) json.RawMessage {
	if a == nil {
		a = &members{values: map[string]json.RawMessage{}}
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
	if all := elements(s.get("allOf")); all != nil {
		s.drop("allOf")
		l.changed("", "allOf at the root")
		for _, raw := range all {
			l.merge(s, l.alternative(raw))
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		l.flattenOne(s, name, "", &said)
	}
	for _, name := range []string{"not", "enum", "const"} {
		if v := s.get(name); v != nil {
			l.changed("", name+" at the root")
			said.add(name + " " + short(v))
			s.drop(name)
		}
	}
	said.describe(s)
}

// flattenOne makes one object of alternatives: it has the properties of all, and
// requires what all require.
func (l *lowering) flattenOne(s *members, name, at string, said *words) {
	list := elements(s.get(name))
	s.drop(name)
	if len(list) == 0 {
		return
	}
	l.changed(at, name+" of objects")
	own := readMembers(s.get("properties"))
	if own == nil {
		own = &members{values: map[string]json.RawMessage{}}
	}
	offered := &members{values: map[string]json.RawMessage{}}
	var required, forms []string
	for i, raw := range list {
		a := l.alternative(raw)
		needs := textsOf(a.get("required"))
		if i == 0 {
			required = needs
		}
		required = slices.DeleteFunc(slices.Clone(required), func(n string) bool { return !slices.Contains(needs, n) })
		properties := readMembers(a.get("properties"))
		l.offer(own, offered, properties)
		forms = append(forms, form(needs, properties))
	}
	for _, name := range offered.names {
		own.set(name, offered.get(name))
	}
	s.set("properties", own.json())
	if len(required) > 0 {
		s.set("required", textList(append(textsOf(s.get("required")), required...)))
	}
	s.drop("additionalProperties")
	if len(forms) > maxAlternatives {
		forms = append(forms[:maxAlternatives], "…")
	}
	said.add(map[string]string{"anyOf": "at least one of these forms: ", "oneOf": "one of these forms: "}[name] + strings.Join(forms, " or "))
}

// offer adds the properties of an alternative. One that another alternative has
// in another form can be both.
func (l *lowering) offer(own, offered, properties *members) {
	if properties == nil {
		return
	}
	for _, name := range properties.names {
		value, other := properties.get(name), offered.get(name)
		switch {
		case own.has(name) || string(other) == string(value):
		case other == nil:
			offered.set(name, value)
		default:
			forms := []json.RawMessage{other}
			if m := readMembers(other); m != nil && len(m.names) == 1 && m.has("anyOf") {
				forms = elements(m.get("anyOf"))
			}
			if !slices.ContainsFunc(forms, func(f json.RawMessage) bool { return string(f) == string(value) }) {
				forms = append(forms, value)
			}
			offered.set(name, append(append([]byte(`{"anyOf":`), listOf(forms)...), '}'))
		}
	}
}

// form names the members of an alternative.
func form(required []string, properties *members) string {
	names := required
	if len(names) == 0 && properties != nil {
		names = properties.names
	}
	return short(json.RawMessage("{" + strings.Join(names, ", ") + "}"))
}

// loneAnyOf moves what is next to anyOf into its alternatives.
func (l *lowering) loneAnyOf(s *members, at string) {
	list := elements(s.get("anyOf"))
	if !l.dialect.LoneAnyOf || list == nil || len(s.names) == 1 {
		return
	}
	for i, raw := range list {
		b := readMembers(raw)
		if b == nil {
			continue
		}
		for _, name := range s.names {
			types := typesOf(b.get("type"))
			if name == "anyOf" || b.has(name) || len(types) == 1 && !isAbout(name, types[0]) {
				continue
			}
			b.set(name, s.get(name))
		}
		list[i] = b.json()
	}
	*s = members{values: map[string]json.RawMessage{}}
	s.set("anyOf", listOf(list))
}
