package schema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// shape is a schema under construction that contains keywords of [For]. Its members are in a
// readable order: identity, meaning, constraints.
type shape struct {
	Ref         string           `json:"$ref,omitempty"`
	Types       types            `json:"type,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	AnyOf       []*shape         `json:"anyOf,omitempty"` // another shape and null
	Enum        []jsontext.Value `json:"enum,omitempty"`
	Format      string           `json:"format,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	Encoding    string           `json:"contentEncoding,omitempty"`
	bounds
	Items       *shape           `json:"items,omitempty"`
	Properties  namedShapes      `json:"properties,omitzero"` // not nil for a struct
	Required    []string         `json:"required,omitempty"`
	Additional  *shape           `json:"additionalProperties,omitempty"`
	Default     jsontext.Value   `json:"default,omitempty"`
	Examples    []jsontext.Value `json:"examples,omitempty"`
	Header      string           `json:"x-mcp-header,omitempty"`
	Definitions namedShapes      `json:"$defs,omitempty"`

	raw      json.RawMessage // schema that the type defines itself; only words, a default and examples are added to it
	narrowed bool            // the schema allows less than the Go type can contain
}

type bounds struct {
	Minimum       jsontext.Value `json:"minimum,omitempty"`
	Maximum       jsontext.Value `json:"maximum,omitempty"`
	MinLength     jsontext.Value `json:"minLength,omitempty"`
	MaxLength     jsontext.Value `json:"maxLength,omitempty"`
	MinItems      jsontext.Value `json:"minItems,omitempty"`
	MaxItems      jsontext.Value `json:"maxItems,omitempty"`
	MinProperties jsontext.Value `json:"minProperties,omitempty"`
	MaxProperties jsontext.Value `json:"maxProperties,omitempty"`
}

type namedShape struct {
	name  string
	shape *shape
}

// namedShapes preserves the order of a struct's fields.
type namedShapes []namedShape

func (list namedShapes) MarshalJSON() ([]byte, error) {
	w := jsonrpc.NewObject(nil)
	for _, p := range list {
		if err := EncodeMember(&w, p.name, p.shape); err != nil {
			return nil, err
		}
	}
	return w.Bytes(), nil
}

// types contains the name of one type, or this name and null.
type types []string

func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return Encode(nil, t[0])
	}
	return Encode(nil, []string(t))
}

// closed is the schema for the other members of a struct: it allows none.
var closed = &shape{raw: json.RawMessage("false")}

func typed(name string) *shape { return &shape{Types: types{name}} }

func integerText(n int) jsontext.Value { return strconv.AppendInt(nil, int64(n), 10) }

// nullable returns a shape that also allows null.
func (s *shape) nullable() *shape {
	switch {
	case s.raw != nil || s.Ref != "":
		return &shape{AnyOf: []*shape{s, typed("null")}}
	case len(s.Types) == 1:
		s.Types = append(s.Types, "null")
	}
	return s
}

// contains reports whether the function such returns true for the shape or for a shape inside it.
func (s *shape) contains(such func(*shape) bool) bool {
	if s == nil || such(s) {
		return s != nil
	}
	within := append(slices.Clone(s.AnyOf), s.Items, s.Additional)
	for _, p := range slices.Concat(s.Properties, s.Definitions) {
		within = append(within, p.shape)
	}
	return slices.ContainsFunc(within, func(sub *shape) bool { return sub.contains(such) })
}

// MarshalJSON encodes the shape. If the type defines its own schema, it adds the title and the
// description to it, unless they are present, and the default and examples of the field.
func (s *shape) MarshalJSON() ([]byte, error) {
	if s.raw == nil {
		type members shape
		if s.AnyOf != nil {
			s = &shape{Title: s.Title, Description: s.Description, AnyOf: s.AnyOf, Default: s.Default}
		}
		return Encode(nil, (*members)(s))
	}
	if kindAt(s.raw, 0) != kindObject {
		return s.raw, nil
	}
	w := jsonrpc.NewObject(nil)
	if s.Title != "" && memberOf(s.raw, "title") == nil {
		w.String("title", s.Title)
	}
	if s.Description != "" && memberOf(s.raw, "description") == nil {
		w.String("description", s.Description)
	}
	if s.Default == nil && s.Examples == nil {
		w.Members(s.raw)
		return w.Bytes(), nil
	}
	var ofField []string // members that a tag of the field replaces
	if s.Default != nil {
		ofField = append(ofField, "default")
	}
	if s.Examples != nil {
		ofField = append(ofField, "examples")
	}
	w.Members(s.raw, ofField...)
	if s.Default != nil {
		w.Raw("default", json.RawMessage(s.Default))
	}
	if s.Examples != nil {
		w.Array("examples")
		for _, example := range s.Examples {
			w.Element(json.RawMessage(example))
		}
		w.End()
	}
	return w.Bytes(), nil
}
