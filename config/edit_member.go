package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// SetMember returns the file in which the member that a path of names leads to has a value, which is JSON; a nil value takes the member
// out. What the file says otherwise stays as it is, byte by byte, comments too; objects on the way are made. An empty file becomes one
// with this member.
func SetMember(data []byte, path []string, value json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) == 0 {
		if value == nil {
			return data, nil
		}
		data = []byte("{\n}\n")
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	t := textOf(doc, data)
	in := doc.root
	for i, name := range path {
		if in.Value.Kind() != '{' {
			return nil, fmt.Errorf("%s is no object, in which %q could stand", strings.Join(path[:i], "."), name)
		}
		list := members(in)
		at := -1
		for j, m := range list {
			if m.name == name {
				at = j
			}
		}
		switch isLast := i == len(path)-1; {
		case at < 0 && value == nil:
			return data, nil
		case at < 0:
			return t.verified(t.insert(in, name, func(margin string, lines bool) string { return t.nested(path[i+1:], value, margin, lines) }))
		case isLast && value == nil:
			return t.verified(t.cut(in, at))
		case isLast:
			old := list[at].value
			_, lines := t.margin(list[at].at)
			text := t.formatted(value, t.indentation(old.StartOffset), lines)
			return t.verified(t.apply([]edit{{old.StartOffset, old.EndOffset, text}}))
		default:
			in = list[at].value
		}
	}
	return data, nil
}

// nested is a value inside of objects.
func (t *editedText) nested(path []string, value json.RawMessage, margin string, lines bool) string {
	if len(path) == 0 {
		return t.formatted(value, margin, lines)
	}
	inner := margin
	if lines {
		inner += t.unit
	}
	return t.object([]string{t.member(path[0], t.nested(path[1:], value, inner, lines))}, margin, lines)
}

// formatted is a value as text, lists on one line.
func (t *editedText) formatted(value json.RawMessage, margin string, lines bool) string {
	v, err := hujson.Parse(value)
	if err != nil {
		return string(value) // which verified refuses
	}
	switch v := v.Value.(type) {
	case *hujson.Object:
		if len(v.Members) == 0 {
			return "{}"
		}
		inner := margin
		if lines {
			inner += t.unit
		}
		var list []string
		for _, m := range v.Members {
			name, _ := text(m.Name)
			list = append(list, t.member(name, t.formatted(m.Value.Pack(), inner, lines)))
		}
		return t.object(list, margin, lines)
	case *hujson.Array:
		var list []string
		for _, e := range v.Elements {
			list = append(list, t.formatted(e.Pack(), margin, false))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case hujson.Literal:
		if v.Kind() == '"' {
			return quoted(v.String())
		}
		return string(v)
	}
	return string(value)
}
