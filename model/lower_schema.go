package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// schemaOf lowers one schema, and those within it.
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
	l.repair(s, at)
	resolved := l.resolve(s, at, &said)
	l.combine(s, at, &said)
	l.enumerate(s, at, &said)
	l.types(s, at)
	l.items(s, at, &said)
	l.names(s, at, &said)
	l.filter(s, at, &said)
	said.describe(s)
	l.loneAnyOf(s, at)
	l.inner(s, at, depth)
	l.within = l.within[:len(l.within)-resolved]
	return s.json()
}

// child lowers the schema at a place, which may be true or false or no schema.
func (l *lowering) child(raw json.RawMessage, at string, depth int) json.RawMessage {
	if s := readMembers(raw); s != nil {
		return l.schemaOf(s, at, depth+1)
	}
	if string(raw) == "false" && l.takes("not") {
		return raw
	}
	if string(raw) != "true" {
		l.changed(at, "not a schema that can be sent, so anything is allowed")
	}
	return json.RawMessage("{}")
}

// inner lowers the schemas that a schema consists of. Those of not and if stay: if
// they accepted more, the whole would accept less.
func (l *lowering) inner(s *members, at string, depth int) {
	for _, name := range slices.Clone(s.names) {
		value := s.get(name)
		switch name {
		case "items", "additionalItems", "contains", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
			s.set(name, l.child(value, at+"/"+name, depth))
		case "additionalProperties":
			if value[0] == '{' {
				s.set(name, l.child(value, at+"/"+name, depth))
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			list := elements(value)
			for i := range list {
				list[i] = l.child(list[i], at+"/"+name+"/"+strconv.Itoa(i), depth)
			}
			if out := listOf(list); name == "oneOf" && string(out) != string(value) && !s.has("anyOf") {
				s.rename(name, "anyOf", out) // more of them may fit now
			} else {
				s.set(name, out)
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if inner := readMembers(value); inner != nil {
				for _, key := range inner.names {
					inner.set(key, l.child(inner.get(key), at+"/"+name+"/"+key, depth))
				}
				s.set(name, inner.json())
			}
		}
		if l.err != nil {
			return
		}
	}
}

// repair does away with what is valid in no draft that providers check against,
// or only in old ones.
func (l *lowering) repair(s *members, at string) {
	if d := s.get("description"); d != nil && d[0] != '"' {
		s.drop("description")
	}
	if r := s.get("required"); r != nil && r[0] != '[' {
		l.changed(at, "required is not a list")
		s.drop("required")
	}
	for _, name := range []string{"properties", "patternProperties", "$defs", "definitions"} {
		if v := s.get(name); v != nil && v[0] != '{' {
			l.changed(at, name+" is not an object")
			s.drop(name)
		}
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf", "enum"} {
		if v := s.get(name); v != nil && len(elements(v)) == 0 {
			l.changed(at, name+" is not a list of something")
			s.drop(name)
		}
	}
	l.repairBounds(s, at)
	if t := s.get("type"); t != nil && (len(typesOf(t)) == 0 || t[0] == '[' && len(typesOf(t)) != len(elements(t))) {
		l.changed(at, "type "+short(t)+" is not known")
		s.drop("type") // with an unknown type among them anything may be meant
	}
}

// repairBounds turns draft 4's exclusiveMinimum, which is true next to minimum, into
// today's.
func (l *lowering) repairBounds(s *members, at string) {
	for _, name := range []string{"Minimum", "Maximum"} {
		exclusive, bound := "exclusive"+name, strings.ToLower(name)
		v := s.get(exclusive)
		if v == nil || v[0] != 't' && v[0] != 'f' {
			continue
		}
		s.drop(exclusive)
		if limit := s.get(bound); string(v) == "true" && limit != nil {
			l.changed(at, exclusive+" is a number now")
			s.set(exclusive, limit)
			s.drop(bound)
		}
	}
}

// takes says whether the dialect has a keyword.
func (l *lowering) takes(keyword string) bool {
	return l.dialect.Keywords == nil || slices.Contains(l.dialect.Keywords, keyword)
}

// types replaces lists of types, where the dialect has none.
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
		s.set("anyOf", branches(s, types))
		for _, name := range slices.Clone(s.names) {
			if name != "anyOf" && name != "description" && name != "nullable" {
				s.drop(name)
			}
		}
	}
}

// branches are one schema for each type, with the keywords that are about it.
func branches(s *members, types []string) json.RawMessage {
	var list []json.RawMessage
	for _, t := range types {
		b := &members{values: map[string]json.RawMessage{}}
		b.set("type", textList([]string{t})[1:len(t)+3])
		for _, name := range s.names {
			if name != "type" && name != "anyOf" && name != "description" && name != "nullable" && isAbout(name, t) {
				b.set(name, s.get(name))
			}
		}
		list = append(list, b.json())
	}
	return listOf(list)
}

// isAbout says whether a keyword says something of values of a type.
func isAbout(keyword, t string) bool {
	switch keyword {
	case "properties", "required", "minProperties", "maxProperties", "additionalProperties", "patternProperties", "propertyNames":
		return t == "object"
	case "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains":
		return t == "array"
	case "minLength", "maxLength", "pattern", "format":
		return t == "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return t == "number" || t == "integer"
	case "enum":
		return t == "string"
	}
	return true
}

// items makes lists of items say what the dialect can.
func (l *lowering) items(s *members, at string, said *words) {
	if v := s.get("items"); v != nil && v[0] == '[' && l.dialect.Name != "plain" {
		l.changed(at, "items is a list")
		s.set("prefixItems", v)
		s.drop("items")
		if rest := s.get("additionalItems"); rest != nil {
			s.set("items", rest)
			s.drop("additionalItems")
		}
	}
	if first := s.get("prefixItems"); first != nil && !l.takes("prefixItems") {
		l.changed(at, "prefixItems")
		said.add("the items in order: " + short(first))
		s.drop("prefixItems")
		s.drop("items")
	}
	if l.dialect.ItemsNeeded && slices.Contains(typesOf(s.get("type")), "array") && !s.has("items") {
		s.set("items", json.RawMessage("{}"))
	}
}

// names sees to the names of properties, and that only those are required that
// there are.
func (l *lowering) names(s *members, at string, said *words) {
	properties := readMembers(s.get("properties"))
	if properties != nil && l.dialect.PropertyNames {
		for _, name := range slices.Clone(properties.names) {
			if !isPortableProperty(name) {
				l.changed(at, "a property whose name is not portable")
				said.add("also takes " + string(textList([]string{name})) + ": " + short(properties.get(name)))
				properties.drop(name)
				s.drop("additionalProperties")
			}
		}
		s.set("properties", properties.json())
	}
	required := s.get("required")
	if required == nil || l.dialect.Name == "plain" {
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

// isPortableProperty says whether every provider takes the name of a property.
func isPortableProperty(name string) bool {
	for _, r := range name {
		if !isLetter(r) && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
