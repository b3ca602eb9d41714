package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Docs gives descriptions from Go doc comments, by "pkgpath.Type" and
// "pkgpath.Type.Field" (the Go name of the field). See [DocsOf].
type Docs map[string]string

var (
	timeType            = reflect.TypeFor[time.Time]()
	durationType        = reflect.TypeFor[time.Duration]()
	rawMessageType      = reflect.TypeFor[json.RawMessage]()
	jsontextValueType   = reflect.TypeFor[jsontext.Value]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textAppenderType    = reflect.TypeFor[encoding.TextAppender]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	schemerType         = reflect.TypeFor[schemer]()
)

// customTypes are the interfaces of types that write or read JSON themselves.
var customTypes = []reflect.Type{
	reflect.TypeFor[jsonv2.Marshaler](), reflect.TypeFor[jsonv2.MarshalerTo](),
	reflect.TypeFor[jsonv2.Unmarshaler](), reflect.TypeFor[jsonv2.UnmarshalerFrom](),
}

// schemer is a type that gives its own schema.
type schemer interface{ MCPSchema() json.RawMessage }

// For infers the schema of a Go type, in the dialect that [Decode] and
// [Encode] speak, as compact JSON without "$schema" (2020-12). docs may be
// nil.
//
//	bool                        boolean
//	int..., uint...             integer; with minimum and maximum for 8, 16 and 32 bits,
//	                            with minimum 0 for unsigned ones
//	float32, float64            number
//	string                      string
//	[]byte, [N]byte             string, base64
//	[]T, [N]T                   array of T
//	map[K]T                     object whose members are T; K is a string or text
//	struct                      object of the fields, closed; embedded structs are flattened
//	*T                          T or null
//	time.Time                   string, date-time
//	time.Duration               string, duration: ISO 8601 (PT1H30M); 1h30m is understood too
//	any, json.RawMessage        {}: any value
//	encoding.TextMarshaler and TextUnmarshaler   string
//	a type with its own JSON methods             {}: any value
//	a type with MCPSchema() json.RawMessage     what that method returns
//
// Recursive types refer to themselves by $ref. A field is required unless it
// has omitempty, omitzero or a default, or is a pointer; required:"true" and
// required:"false" decide otherwise. Struct tags, which win over docs:
//
//	json      name, omitempty, omitzero, string, embed, -
//	doc       description                  title    title
//	min, max  of a number, of the length of a string, of the items of a slice or members of a map
//	enum      "a,b,c"; of the items, for a slice
//	pattern   regular expression (RE2); of the items, for a slice
//	format    such as uri or email, not checked; of the items, for a slice
//	default   JSON, or bare text for a string; see [Validator.Complete]
//	example   as default
//	header    x-mcp-header: HTTP header Mcp-Param-* that repeats the argument
//
// What has no schema is an error that names the type, the field and the
// remedy.
func For(t reflect.Type, docs Docs) (json.RawMessage, error) {
	s, err := infer(t, docs)
	if err == nil {
		err = s.checkHeaders("", true, map[string]string{})
	}
	var text []byte
	if err == nil {
		text, err = Encode(nil, s)
	}
	if err == nil {
		_, err = Compile(text)
	}
	if err != nil {
		return nil, fmt.Errorf("no JSON schema for %s: %w", indirect(t), err)
	}
	return text, nil
}

// Certain reports whether everything that a value of type t encodes to fits the
// schema that [For] infers, so that checking it would be a waste. It does not
// where a tag or the type's own schema allows less than the type can hold.
// A pointer counts as what it points to.
func Certain(t reflect.Type) bool {
	s, err := infer(t, nil)
	return err == nil && !s.contains(func(s *shape) bool { return s.narrowed || s.raw != nil && s != closed })
}

// infer builds the shape of a type; nobody calls a tool with null.
func infer(t reflect.Type, docs Docs) (*shape, error) {
	t = indirect(t)
	b := &builder{docs: docs, root: t, active: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	s, err := b.shape(t)
	if err == nil {
		s.Definitions = b.definitions
	}
	return s, err
}

// builder builds the shapes of one schema.
type builder struct {
	docs        Docs
	root        reflect.Type
	active      map[reflect.Type]bool   // structs and maps under way
	names       map[reflect.Type]string // types that turned out to recur, with their reference
	definitions namedShapes
}

// shape builds the schema of a type.
func (b *builder) shape(t reflect.Type) (*shape, error) {
	if own, ok := ownSchema(t); ok {
		if _, err := Compile(own); err != nil {
			return nil, fmt.Errorf("method MCPSchema of %s: %w", t, err)
		}
		return &shape{raw: own}, nil
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return b.pointer(t)
	case t == timeType:
		return &shape{Types: types{"string"}, Format: "date-time"}, nil
	case t == durationType:
		return &shape{Types: types{"string"}, Format: "duration"}, nil
	case t == rawMessageType, t == jsontextValueType, isCustom(t):
		return &shape{}, nil
	case isText(t):
		writes := implements(t, textMarshalerType) || implements(t, textAppenderType)
		return &shape{Types: types{"string"}, narrowed: !writes}, nil
	}
	return b.byKind(t)
}

func (b *builder) byKind(t reflect.Type) (*shape, error) {
	switch name := typeOf(t.Kind()); {
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return nil, fmt.Errorf("interface %s cannot be decoded: use any, json.RawMessage or a struct", t)
	case t.Kind() == reflect.Interface:
		return &shape{}, nil
	case name == "":
		return nil, fmt.Errorf("%s has no JSON form: leave it out with `json:\"-\"`, or use another type", t)
	case name == "integer":
		return integer(t), nil
	case name == "array":
		return b.recurring(t, b.list)
	case t.Kind() == reflect.Map:
		return b.recurring(t, b.dictionary)
	case t.Kind() == reflect.Struct:
		return b.recurring(t, b.object)
	default:
		return typed(name), nil
	}
}

// typeOf is the JSON type of a kind of Go types; empty for none, or any.
func typeOf(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	if reflect.Int <= k && k <= reflect.Uintptr {
		return "integer"
	}
	return ""
}

// integer bounds the types that do not hold every number that JSON programs
// handle exactly, so that a model can know what fits.
func integer(t reflect.Type) *shape {
	s := typed("integer")
	signed := t.Kind() <= reflect.Int64
	small := t.Kind() != reflect.Int && t.Kind() != reflect.Uint && t.Kind() != reflect.Uintptr && t.Bits() <= 32
	switch {
	case small && signed:
		s.Minimum, s.Maximum = integerText(-1<<(t.Bits()-1)), integerText(1<<(t.Bits()-1)-1)
	case small:
		s.Minimum, s.Maximum = integerText(0), integerText(1<<t.Bits()-1)
	case !signed:
		s.Minimum = integerText(0)
	}
	return s
}

// ownSchema asks a type for its own schema.
func ownSchema(t reflect.Type) (json.RawMessage, bool) {
	switch {
	case t.Kind() == reflect.Interface:
		return nil, false
	case t.Kind() == reflect.Pointer: // it is what its element is, or null
		return nil, false
	case t.Implements(schemerType):
		return reflect.Zero(t).Interface().(schemer).MCPSchema(), true
	case reflect.PointerTo(t).Implements(schemerType):
		return reflect.New(t).Interface().(schemer).MCPSchema(), true
	}
	return nil, false
}

func (b *builder) pointer(t reflect.Type) (*shape, error) {
	s, err := b.shape(t.Elem())
	if err != nil {
		return s, err
	}
	return s.nullable(), nil
}

// recurring builds a type that may contain itself. Where it does, the root is
// referred to as #, and other types move to $defs.
func (b *builder) recurring(t reflect.Type, build func(reflect.Type) (*shape, error)) (*shape, error) {
	if name, ok := b.names[t]; ok {
		return &shape{Ref: name}, nil
	}
	if b.active[t] {
		if t.Name() == "" && t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("%s contains itself without a named struct: name the type", t)
		}
		b.names[t] = b.reference(t)
		return &shape{Ref: b.names[t]}, nil
	}
	b.active[t] = true
	defer delete(b.active, t)
	if len(b.active) > maxSchemaDepth/2 {
		return nil, fmt.Errorf("%s is nested deeper than %d types", t, maxSchemaDepth/2)
	}
	s, err := build(t)
	if err != nil {
		return nil, err
	}
	name, recurs := b.names[t]
	if !recurs || name == "#" {
		return s, nil
	}
	b.definitions = append(b.definitions, namedShape{strings.TrimPrefix(name, "#/$defs/"), s})
	return &shape{Ref: name}, nil
}

// reference chooses the $ref of a type that contains itself.
func (b *builder) reference(t reflect.Type) string {
	if t == b.root {
		return "#"
	}
	base := "#/$defs/" + strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '_'
	}, t.Name())
	name := base
	for n := 2; slices.Contains(slices.Collect(maps.Values(b.names)), name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

func (b *builder) list(t reflect.Type) (*shape, error) {
	if isBytes(t) {
		return &shape{Types: types{"string"}, Encoding: "base64"}, nil
	}
	items, err := b.shape(t.Elem())
	if err != nil {
		return nil, err
	}
	s := &shape{Types: types{"array"}, Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems, s.MaxItems = integerText(t.Len()), integerText(t.Len())
	}
	return s, nil
}

func (b *builder) dictionary(t reflect.Type) (*shape, error) {
	if key := t.Key(); key.Kind() != reflect.String && !isText(key) {
		return nil, fmt.Errorf("%s has keys that are not strings: use map[string]%s", t, t.Elem())
	}
	values, err := b.shape(t.Elem())
	if err != nil {
		return nil, err
	}
	return &shape{Types: types{"object"}, Additional: values}, nil
}

func (b *builder) object(t reflect.Type) (*shape, error) {
	fields, rest, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	s := &shape{Types: types{"object"}, Description: b.docs[docKey(t)], Properties: namedShapes{}, Additional: closed}
	for _, f := range fields {
		p, err := b.field(f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		s.Properties = append(s.Properties, namedShape{f.name, p})
		if f.required() {
			s.Required = append(s.Required, f.name)
		}
	}
	if rest != nil {
		s.Additional, err = b.shape(rest)
	}
	return s, err
}

// field builds the schema of one member.
func (b *builder) field(f field) (*shape, error) {
	s, err := b.shape(f.Type)
	if err != nil {
		return nil, err
	}
	if doc := b.docs[docKey(f.owner)+"."+f.Name]; doc != "" {
		s.Description = doc
	}
	if err := applyTags(s, f); err != nil {
		return nil, err
	}
	if f.optional && f.required() {
		s.narrowed = true
	}
	return s, nil
}

// docKey is the key of a type in Docs; all instances of a generic type share
// one.
func docKey(t reflect.Type) string { return t.PkgPath() + "." + baseName(t) }

// implements tells whether t or *t has the methods.
func implements(t, methods reflect.Type) bool {
	return t.Implements(methods) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(methods)
}

func isCustom(t reflect.Type) bool {
	for _, methods := range customTypes {
		if implements(t, methods) {
			return true
		}
	}
	return false
}

func isText(t reflect.Type) bool {
	return implements(t, textMarshalerType) || implements(t, textAppenderType) || implements(t, textUnmarshalerType)
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}
