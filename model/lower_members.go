package model

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// members are those of a JSON object, in their order.
type members struct {
	names  []string
	values map[string]json.RawMessage
}

// readMembers returns nil of what is no object. The JSON must be valid.
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

// first puts a member before the others.
func (m *members) first(name string, value json.RawMessage) {
	m.drop(name)
	m.names = slices.Insert(m.names, 0, name)
	m.values[name] = value
}

func (m *members) drop(name string) {
	if m.has(name) {
		delete(m.values, name)
		m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == name })
	}
}

// rename puts a member in the place of another.
func (m *members) rename(from, to string, value json.RawMessage) {
	delete(m.values, from)
	m.values[to] = value
	m.names[slices.Index(m.names, from)] = to
}

func (m *members) clone() *members {
	return &members{names: slices.Clone(m.names), values: maps.Clone(m.values)}
}

func (m *members) json() json.RawMessage {
	w := jsonrpc.NewObject(nil)
	for _, name := range m.names {
		w.Raw(name, m.values[name])
	}
	return w.Bytes()
}

// elements are those of a JSON array; nil if it is not one.
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

// texts are the strings of a JSON array, or the string itself.
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

// types that there are in JSON Schema.
func isType(name string) bool {
	return slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name)
}

// typesOf are the types that a schema names; what is no type is left out.
func typesOf(raw json.RawMessage) []string {
	return slices.DeleteFunc(textsOf(raw), func(name string) bool { return !isType(name) })
}
