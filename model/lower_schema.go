package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
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
	l.repair(s, at, &said)
	resolved := l.resolve(s, at, &said, false)
	l.combine(s, at, &said)
	l.enumerate(s, at, &said)
	l.types(s, at)
	l.items(s, at, &said)
	l.names(s, at, &said)
	l.filter(s, at, &said)
	l.loneAnyOf(s, &said)
	l.inner(s, at, depth)
	said.describe(s)
	l.within = l.within[:len(l.within)-resolved]
	return s.json()
}

// child lowers the schema at a place, which may be true or false or no schema.
func (l *lowering) child(raw json.RawMessage, at string, depth int) json.RawMessage {
	if s := readMembers(raw); s != nil {
		return l.schemaOf(s, at, depth+1)
	}
	if string(raw) != "true" {
		l.changed(at, "not a schema that can be sent, so anything is allowed")
	}
	return json.RawMessage("{}")
}

// inner lowers the schemas that a schema consists of.
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

// valueOf lowers the schemas within the value of a keyword.
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

// repair does away with what is valid in no draft that providers check against,
// or only in old ones, and with what no dialect gets.
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
	for _, name := range []string{"exclusiveMinimum", "exclusiveMaximum"} { // true or false in draft 4
		if v := s.get(name); v != nil && (v[0] == 't' || v[0] == 'f') {
			s.drop(name)
			l.changed(at, name+" is no number")
		}
	}
	if one := s.get("oneOf"); one != nil && !s.has("anyOf") {
		l.changed(at, "oneOf")
		s.rename("oneOf", "anyOf", one)
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
		s.drop("type") // with an unknown type among them anything may be meant
	}
}

// mustBegin has the first bytes of values that are of one type in every draft.
var mustBegin = map[string]byte{
	"description": '"', "required": '[', "enum": '[', "anyOf": '[', "oneOf": '[', "allOf": '[', "prefixItems": '[',
	"properties": '{', "patternProperties": '{', "$defs": '{', "definitions": '{', "dependentSchemas": '{',
}

// repairItems turns a list in items, as it was once, into prefixItems.
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
		var each []json.RawMessage
		for _, t := range types {
			one := noMembers()
			one.set("type", jsonrpc.AppendString(nil, t))
			each = append(each, one.json())
		}
		s.set("anyOf", listOf(each))
	}
}

// items says what the dialect can of the items of an array.
func (l *lowering) items(s *members, at string, said *words) {
	if s.has("prefixItems") && !l.dialect.takes("prefixItems") {
		l.leaveOut(s, "prefixItems", at, said)
	}
	if l.dialect.ItemsNeeded && slices.Contains(typesOf(s.get("type")), "array") && !s.has("items") {
		l.changed(at, "an array without items")
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

// isPortableProperty says whether every provider takes the name of a property.
func isPortableProperty(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !isLetter(r) && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
