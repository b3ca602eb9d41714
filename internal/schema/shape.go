package schema

import (
	"encoding/json"
	"strconv"
)

// shape is a schema under construction, in the vocabulary that [For] uses.
type shape struct {
	raw json.RawMessage // a schema the type gave itself, instead of all below

	orNull bool // raw or ref, or null

	ref         string
	types       []string
	title       string
	description string
	enum        []string // JSON texts
	value       string   // default, as JSON text
	example     string   // as JSON text
	format      string
	pattern     string
	encoding    string // contentEncoding
	bounds      []bounds
	items       *shape
	properties  []namedShape
	isObject    bool
	required    []string
	additional  *shape // for maps
	header      string
	definitions []namedShape
}

// bounds is one numeric keyword with its JSON text.
type bounds struct{ keyword, text string }

type namedShape struct {
	name  string
	shape *shape
}

// nullable allows null beside what the shape allows.
func (s *shape) nullable() *shape {
	switch {
	case s.raw != nil || s.ref != "":
		s.orNull = true
	case len(s.types) == 1:
		s.types = append(s.types, "null")
	}
	return s
}

// writer appends the members of one schema object.
type writer struct {
	out   []byte
	empty bool
}

func (w *writer) name(name string) {
	if !w.empty {
		w.out = append(w.out, ',')
	}
	w.empty = false
	w.out = append(appendQuoted(w.out, name), ':')
}

// text writes a string member, unless it is empty.
func (w *writer) text(name, value string) {
	if value != "" {
		w.name(name)
		w.out = appendQuoted(w.out, value)
	}
}

// json writes a member whose value is JSON already, unless it is empty.
func (w *writer) json(name, value string) {
	if value != "" {
		w.name(name)
		w.out = append(w.out, value...)
	}
}

func (w *writer) list(name string, texts []string) {
	w.name(name)
	w.out = append(w.out, '[')
	for i, text := range texts {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, text...)
	}
	w.out = append(w.out, ']')
}

func (w *writer) shapes(name string, list []namedShape) {
	w.name(name)
	w.out = append(w.out, '{')
	for i, p := range list {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(appendQuoted(w.out, p.name), ':')
		w.out = p.shape.append(w.out)
	}
	w.out = append(w.out, '}')
}

// append writes the schema with its members in the order people read them:
// what it is, what it means, what it allows.
func (s *shape) append(dst []byte) []byte {
	if s.orNull {
		return s.appendOrNull(dst)
	}
	if s.raw != nil {
		return s.appendOwn(dst)
	}
	w := &writer{out: append(dst, '{'), empty: true}
	w.text("$ref", s.ref)
	switch {
	case len(s.types) == 1:
		w.text("type", s.types[0])
	case len(s.types) > 1:
		w.list("type", quoteAll(s.types))
	}
	s.appendMeaning(w)
	if s.enum != nil {
		w.list("enum", s.enum)
	}
	w.text("format", s.format)
	w.text("pattern", s.pattern)
	w.text("contentEncoding", s.encoding)
	for _, b := range s.bounds {
		w.json(b.keyword, b.text)
	}
	if s.items != nil {
		w.name("items")
		w.out = s.items.append(w.out)
	}
	s.appendObject(w)
	w.json("default", s.value)
	if s.example != "" {
		w.list("examples", []string{s.example})
	}
	w.text("x-mcp-header", s.header)
	if len(s.definitions) > 0 {
		w.shapes("$defs", s.definitions)
	}
	return append(w.out, '}')
}

func (s *shape) appendMeaning(w *writer) {
	w.text("title", s.title)
	w.text("description", s.description)
}

func (s *shape) appendObject(w *writer) {
	if s.isObject {
		w.shapes("properties", s.properties)
		if len(s.required) > 0 {
			w.list("required", quoteAll(s.required))
		}
		if s.additional == nil {
			w.json("additionalProperties", "false")
		}
	}
	if s.additional != nil {
		w.name("additionalProperties")
		w.out = s.additional.append(w.out)
	}
}

// appendOrNull writes the two alternatives of a pointer.
func (s *shape) appendOrNull(dst []byte) []byte {
	w := &writer{out: append(dst, '{'), empty: true}
	s.appendMeaning(w)
	target := &shape{raw: s.raw, ref: s.ref}
	w.list("anyOf", []string{string(target.append(nil)), `{"type":"null"}`})
	w.json("default", s.value)
	return append(w.out, '}')
}

// appendOwn writes a type's own schema, with the title and the description of
// the field in front of it where the schema has none.
func (s *shape) appendOwn(dst []byte) []byte {
	list, isObject := members(s.raw)
	if !isObject {
		return append(dst, s.raw...)
	}
	w := &writer{out: append(dst, '{'), empty: true}
	for _, m := range []struct{ name, value string }{{"title", s.title}, {"description", s.description}} {
		if memberOf(s.raw, m.name) == nil {
			w.text(m.name, m.value)
		}
	}
	for _, m := range list {
		w.json(string(m.name), string(m.value))
	}
	return append(w.out, '}')
}

func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(appendQuoted(nil, s))
	}
	return out
}

func (s *shape) bound(keyword string, n int) {
	s.bounds = append(s.bounds, bounds{keyword, strconv.Itoa(n)})
}
