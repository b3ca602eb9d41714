package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

// Limits of a schema, which may come from a hostile server.
const (
	// maxSchema is the maximum size of a schema in bytes, before and after lowering.
	maxSchema = 256 << 10
	// maxSchemaDepth is the maximum nesting, including that through $ref.
	maxSchemaDepth = 48
	// maxSchemaNodes is the maximum number of schemas inside it, after each $ref was replaced by
	// its target.
	maxSchemaNodes = 5_000
	// maxChanges is the number of changes listed in a Note.
	maxChanges = 6
)

// Lower adapts tools to a provider. It rewrites the parts of schemas that the dialect does not
// support. The result accepts all values that the original accepted, and descriptions mention the
// restrictions that could not be expressed. Lower omits a tool whose schema is invalid, too large
// or not that of an object. If there are too many tools, it keeps the first ones. A Note lists each
// tool that was changed or omitted.
//
// The order is kept, the same tools give the same bytes, and the work is bounded for all schemas.
// The given tools are not changed.
func Lower(tools []Tool, d Dialect) ([]Tool, []Note) {
	kept := make([]Tool, 0, len(tools))
	var notes []Note
	for _, t := range tools {
		lowered, changes, err := lowerRoot(t.Schema, &d)
		switch {
		case err != nil:
			notes = append(notes, Note{Tool: t.Name, SetAside: true, Text: "its schema " + err.Error()})
			continue
		case d.MaxTools > 0 && len(kept) >= d.MaxTools:
			notes = append(notes, Note{Tool: t.Name, SetAside: true, Text: fmt.Sprintf("a request can have %d tools", d.MaxTools)})
			continue
		case len(changes) > 0:
			notes = append(notes, Note{Tool: t.Name, Text: rewritten(d.Name, changes)})
		}
		t.Schema = lowered
		kept = append(kept, t)
	}
	return kept, notes
}

// Changes returns the changes that [Lower] makes in one schema: each change once, with its place,
// such as "/properties/tags: an array without items". The error is the reason why the schema cannot
// be sent at all.
func Changes(raw json.RawMessage, d Dialect) ([]string, error) {
	_, changes, err := lowerRoot(raw, &d)
	slices.Sort(changes)
	return slices.Compact(changes), err
}

// rewritten returns the text of a Note for a list of changes, each change once.
func rewritten(dialect string, changes []string) string {
	slices.Sort(changes)
	changes = slices.Compact(changes)
	more := ""
	if len(changes) > maxChanges {
		more = fmt.Sprintf("; and %d more", len(changes)-maxChanges)
		changes = changes[:maxChanges]
	}
	return "rewritten for " + dialect + ": " + strings.Join(changes, "; ") + more
}

// Reasons why a schema cannot be used at all.
var (
	errSchemaLarge  = fmt.Errorf("is larger than %d KiB", maxSchema>>10)
	errSchemaWide   = fmt.Errorf("has more than %d parts once references are resolved", maxSchemaNodes)
	errSchemaDeep   = fmt.Errorf("is nested deeper than %d", maxSchemaDepth)
	errSchemaObject = errors.New("does not describe an object")
)

// lowering is the state of the work on one schema.
type lowering struct {
	dialect  *Dialect
	root     schema.View
	changes  []string
	nodes    int
	err      error
	within   []string // stack of references being resolved
	resolved int      // total bytes of resolved targets

	typed bool // the type of the root was added
}

func lowerRoot(raw json.RawMessage, d *Dialect) (json.RawMessage, []string, error) {
	if raw == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil, nil
	}
	if len(raw) > maxSchema {
		return nil, nil, errSchemaLarge
	}
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	if fault := jsonrpc.Valid(raw, jsonrpc.Limits{}); fault != nil {
		return nil, nil, errors.New("is not valid JSON: " + fault.Message)
	}
	var out bytes.Buffer
	_ = json.Compact(&out, raw) // without white space, so that unchanged parts compare as equal
	l := &lowering{dialect: d, root: schema.Look(out.Bytes())}
	s := readMembers(out.Bytes())
	if s == nil {
		return nil, nil, errSchemaObject
	}
	lowered := l.rootObject(s)
	if l.err != nil {
		return nil, nil, l.err
	}
	if len(lowered) > maxSchema {
		return nil, nil, errSchemaLarge
	}
	return lowered, l.changes, nil
}

// rootObject gives the root the form that every provider requires: type object with properties.
func (l *lowering) rootObject(s *members) json.RawMessage {
	var said words
	l.repair(s, "", &said)
	if l.dialect.PlainRoot && s.has("$ref") {
		l.changed("", "$ref at the root")
		s = l.follow(s, "", &said)
	}
	said.describe(s)
	for _, name := range []string{"$schema", "$comment"} {
		s.drop(name)
	}
	if !l.rootType(s) {
		l.err = errSchemaObject
		return nil
	}
	if l.dialect.PlainRoot {
		l.flatten(s)
	}
	if readMembers(s.get("properties")) == nil {
		s.set("properties", json.RawMessage("{}"))
	}
	out := l.schemaOf(s, "", 0)
	if l.err != nil {
		return nil
	}
	return out
}

// rootType sets the type of the root to object. It returns false if the root has only other types.
func (l *lowering) rootType(s *members) bool {
	types := typesOf(s.get("type"))
	switch {
	case len(types) > 0 && !slices.Contains(types, "object"):
		return false
	case len(types) == 0:
		l.typed = true
		value := json.RawMessage(`"object"`)
		s.drop("type")
		s.names = slices.Insert(s.names, 0, "type")
		s.values["type"] = value
	case len(types) > 1 && l.dialect.PlainRoot:
		l.changed("", "the arguments are always an object")
		s.set("type", json.RawMessage(`"object"`))
	}
	return true
}

// changed records a change at a place in the schema.
func (l *lowering) changed(at, what string) {
	at = cmp.Or(at, "/")
	if len(l.changes) < 1_000 {
		l.changes = append(l.changes, at+": "+what)
	}
}

// Limits of words, because descriptions cost tokens in every request.
const (
	// maxWord is the maximum length in bytes of one entry.
	maxWord = 240
	// maxWords is the maximum number of entries in one schema.
	maxWords = 8
)

// words holds restrictions as text, because the lowered schema cannot express them.
type words struct{ list []string }

func (w *words) add(text string) {
	if text != "" && len(w.list) < maxWords && !slices.Contains(w.list, text) {
		w.list = append(w.list, text)
	}
}

// describe appends the words to the description.
func (w *words) describe(s *members) {
	if len(w.list) == 0 {
		return
	}
	text, _ := textOf(s.get("description"))
	if text != "" {
		text += " "
	}
	s.set("description", jsonrpc.AppendString(nil, text+"("+strings.Join(w.list, "; ")+")"))
	w.list = nil
}

// short returns raw, shortened for a description.
func short(raw json.RawMessage) string { return plaintext.Short(string(raw), maxWord) }

// filter removes the keywords that the dialect does not support and describes them in words.
func (l *lowering) filter(s *members, at string, said *words) {
	for _, name := range slices.Clone(s.names) {
		value := s.get(name)
		if name == "format" && l.dialect.Formats != nil {
			if f, ok := textOf(value); !ok || !slices.Contains(l.dialect.Formats, f) {
				s.drop(name)
				said.add("format " + f)
			}
		} else if value != nil && !l.dialect.takes(name) {
			l.leaveOut(s, name, at, said)
		}
	}
}

// leaveOut replaces a keyword by words. It also removes the keywords that would accept less without
// it.
func (l *lowering) leaveOut(s *members, name, at string, said *words) {
	value := s.get(name)
	if value == nil {
		return
	}
	s.drop(name)
	if text := inWords(name, value); text != "" {
		l.changed(at, name)
		said.add(text)
	}
	for _, limited := range keywords[name].limits {
		l.leaveOut(s, limited, at, said)
	}
}

// inWords describes a keyword in words. It returns "" if the keyword has no meaning to a model.
func inWords(name string, value json.RawMessage) string {
	k := keywords[name]
	switch {
	case k.silent, strings.HasPrefix(name, "x-"),
		name == "uniqueItems" && string(value) != "true",
		k.words == "others are %s" && value[0] != '{':
		return ""
	case k.words == "":
		return name + " " + short(value)
	}
	return strings.Replace(k.words, "%s", short(value), 1)
}

// enumerate converts enum and const to the dialect.
func (l *lowering) enumerate(s *members, at string, said *words) {
	if c := s.get("const"); c != nil && !l.dialect.takes("const") {
		if !s.has("enum") {
			s.set("enum", listOf([]json.RawMessage{c}))
		}
		s.drop("const")
	}
	values := elements(s.get("enum"))
	if len(values) == 0 || !l.dialect.StringEnums {
		return
	}
	var texts []string
	onlyText := true
	for _, v := range values {
		text, ok := textOf(v)
		switch {
		case string(v) == "null":
			s.set("nullable", json.RawMessage("true"))
		case !ok || text == "":
			onlyText = false
		case !slices.Contains(texts, text):
			texts = append(texts, text)
		}
	}
	others := slices.DeleteFunc(typesOf(s.get("type")), func(t string) bool { return t == "string" || t == "null" })
	if onlyText && len(texts) > 0 && len(others) == 0 {
		s.set("type", json.RawMessage(`"string"`))
		s.set("enum", textList(texts))
		return
	}
	l.changed(at, "enum of other values than text")
	said.add("one of " + short(s.get("enum")))
	s.drop("enum")
}

// members holds the members of a JSON object in their original order.
type members struct {
	names  []string
	values map[string]json.RawMessage
}

// readMembers parses valid JSON. It returns nil if the value is not an object.
func readMembers(raw json.RawMessage) *members {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	m := noMembers()
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		if name, ok := jsonrpc.Unquote(quoted); ok {
			m.set(name, value)
		}
		return true
	})
	return m
}

func noMembers() *members { return &members{values: map[string]json.RawMessage{}} }

func (m *members) has(name string) bool { return m.get(name) != nil }

func (m *members) get(name string) json.RawMessage {
	if m == nil {
		return nil
	}
	return m.values[name]
}

func (m *members) set(name string, value json.RawMessage) {
	if !m.has(name) {
		m.names = append(m.names, name)
	}
	m.values[name] = value
}

func (m *members) drop(name string) {
	if m.has(name) {
		delete(m.values, name)
		m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == name })
	}
}

func (m *members) json() json.RawMessage {
	w := jsonrpc.NewObject(nil)
	for _, name := range m.names {
		w.Raw(name, m.values[name])
	}
	return w.Bytes()
}

// elements returns the elements of a JSON array, or nil for other values.
func elements(raw json.RawMessage) []json.RawMessage {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	list := []json.RawMessage{}
	jsonrpc.EachElement(raw, func(value []byte) bool {
		list = append(list, value)
		return true
	})
	return list
}

func listOf(values []json.RawMessage) json.RawMessage {
	w := jsonrpc.NewArray(nil)
	for _, v := range values {
		w.Element(v)
	}
	return w.Bytes()
}

// textsOf returns the strings in a JSON array, or a single string as a list.
func textsOf(raw json.RawMessage) []string {
	if text, ok := textOf(raw); ok {
		return []string{text}
	}
	var texts []string
	for _, value := range elements(raw) {
		if text, ok := textOf(value); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

func textOf(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return jsonrpc.Unquote(raw)
}

func textList(texts []string) json.RawMessage {
	w := jsonrpc.NewArray(nil)
	for _, text := range texts {
		w.StringElement(text)
	}
	return w.Bytes()
}

// typesOf returns the valid types that a schema names.
func typesOf(raw json.RawMessage) []string {
	return slices.DeleteFunc(textsOf(raw), func(name string) bool {
		return !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name)
	})
}
