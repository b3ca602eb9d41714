package schema

import (
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
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
	narrowed    bool // allows less than the Go type can hold
}

// bounds is one numeric keyword with its JSON text.
type bounds struct{ keyword, text string }

type namedShape struct {
	name  string
	shape *shape
}

// nullable allows null in addition to what the shape allows.
func (s *shape) nullable() *shape {
	switch {
	case s.raw != nil || s.ref != "":
		s.orNull = true
	case len(s.types) == 1:
		s.types = append(s.types, "null")
	}
	return s
}

// append writes the schema with its members in the order people read them:
// what it is, what it means, what it allows.
func (s *shape) append(dst []byte) []byte {
	if _, isObject := members(s.raw); s.raw != nil && !isObject && !s.orNull {
		return append(dst, s.raw...)
	}
	w := jsonrpc.NewObject(dst)
	switch {
	case s.orNull:
		s.writeMeaning(&w)
		target := &shape{raw: s.raw, ref: s.ref}
		writeList(&w, "anyOf", []string{string(target.append(nil)), `{"type":"null"}`})
		writeRaw(&w, "default", s.value)
	case s.raw != nil:
		s.writeMeaning(&w)
		w.Members(s.raw)
	default:
		s.write(&w)
	}
	return w.Bytes()
}

// writeMeaning writes what a person reads; a type's own schema may say it
// already.
func (s *shape) writeMeaning(w *jsonrpc.Writer) {
	if s.orNull || memberOf(s.raw, "title") == nil {
		writeText(w, "title", s.title)
	}
	if s.orNull || memberOf(s.raw, "description") == nil {
		writeText(w, "description", s.description)
	}
}

func (s *shape) write(w *jsonrpc.Writer) {
	writeText(w, "$ref", s.ref)
	if len(s.types) == 1 {
		w.String("type", s.types[0])
	} else {
		writeList(w, "type", quoteAll(s.types))
	}
	s.writeMeaning(w)
	writeList(w, "enum", s.enum)
	writeText(w, "format", s.format)
	writeText(w, "pattern", s.pattern)
	writeText(w, "contentEncoding", s.encoding)
	for _, b := range s.bounds {
		writeRaw(w, b.keyword, b.text)
	}
	if s.items != nil {
		w.Raw("items", s.items.append(nil))
	}
	if s.isObject {
		writeShapes(w, "properties", s.properties)
		writeList(w, "required", quoteAll(s.required))
	}
	switch {
	case s.additional != nil:
		w.Raw("additionalProperties", s.additional.append(nil))
	case s.isObject:
		w.Bool("additionalProperties", false)
	}
	writeRaw(w, "default", s.value)
	if s.example != "" {
		writeList(w, "examples", []string{s.example})
	}
	writeText(w, "x-mcp-header", s.header)
	if len(s.definitions) > 0 {
		writeShapes(w, "$defs", s.definitions)
	}
}

// writeText writes a string, unless it is empty.
func writeText(w *jsonrpc.Writer, name, value string) {
	if value != "" {
		w.String(name, value)
	}
}

// writeRaw writes a value that is JSON already, unless it is empty.
func writeRaw(w *jsonrpc.Writer, name, value string) {
	if value != "" {
		w.Raw(name, json.RawMessage(value))
	}
}

// writeList writes an array of JSON texts, unless it is empty.
func writeList(w *jsonrpc.Writer, name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	w.Array(name)
	for _, text := range texts {
		w.Element(json.RawMessage(text))
	}
	w.End()
}

func writeShapes(w *jsonrpc.Writer, name string, list []namedShape) {
	w.Object(name)
	for _, p := range list {
		w.Raw(p.name, p.shape.append(nil))
	}
	w.End()
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
