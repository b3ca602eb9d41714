package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Docs contains descriptions from Go doc comments. Its keys are "pkgpath.Type" and
// "pkgpath.Type.Field", with the Go name of the field. See [DocsOf].
type Docs map[string]string

var (
	timeType            = reflect.TypeFor[time.Time]()
	durationType        = reflect.TypeFor[time.Duration]()
	rawMessageType      = reflect.TypeFor[json.RawMessage]()
	jsontextValueType   = reflect.TypeFor[jsontext.Value]()
	numberType          = reflect.TypeFor[json.Number]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	schemerType         = reflect.TypeFor[schemer]()
)

// Interfaces of types that encode or decode JSON or text themselves.
var (
	readsJSON  = []reflect.Type{reflect.TypeFor[jsonv2.Unmarshaler](), reflect.TypeFor[jsonv2.UnmarshalerFrom]()}
	writesJSON = []reflect.Type{reflect.TypeFor[jsonv2.Marshaler](), reflect.TypeFor[jsonv2.MarshalerTo]()}
	readsText  = []reflect.Type{textUnmarshalerType}
	writesText = []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender]()}
)

// Options describes how values of the inferred schema are used.
type Options struct {
	// Docs may be nil.
	Docs Docs
	// Types contains schemas of types that have no method MCPSchema.
	Types map[reflect.Type]json.RawMessage
	// Codecs encodes and decodes values. It may be nil.
	Codecs *Codecs
	// Output is set if the values are only encoded. Their type may then belong to another module,
	// and struct tags that do not fit are ignored.
	Output bool
}

// schemer is a type that defines its own schema.
type schemer interface{ MCPSchema() json.RawMessage }

// For infers the schema of a Go type for the dialect of [Decode] and [Encode]. It returns compact
// JSON without "$schema"; the dialect is 2020-12. Unless o.Output is set, it returns an error for
// types that cannot be decoded.
//
//	bool                        boolean
//	int..., uint...             integer; with minimum and maximum for 8, 16 and 32 bits,
//	                            with minimum 0 for unsigned ones
//	float32, float64            number
//	string                      string
//	json.Number                 number
//	[]byte                      string, base64
//	[]T, [N]T                   array of T
//	map[K]T                     object whose members are T; K is a string, an integer or text
//	struct                      object of the fields, closed; embedded structs are flattened
//	*T                          T or null
//	time.Time                   string, date-time
//	time.Duration               string, duration: ISO 8601 (PT1H30M); 1h30m is accepted too
//	any, json.RawMessage        {}: any value; for output also other interfaces
//	encoding.TextUnmarshaler, for output TextMarshaler   string
//	a type with its own JSON method of that direction    {}: any value
//	a type with MCPSchema() json.RawMessage     the result of that method
//
// Recursive types refer to themselves by $ref. A field is required, except in these cases: it has
// omitempty, omitzero or a default, it is a pointer, or, for output, it belongs to an embedded
// pointer. The tags required:"true" and required:"false" take precedence. The following struct tags
// take precedence over Docs:
//
//	json      name, omitempty, omitzero, string, embed, -
//	doc       description                  title    title
//	min, max  of a number, of the length of a string, of the items of a slice or members of a map
//	enum      "a,b,c"; of the items, for a slice
//	pattern   regular expression (RE2); of the items, for a slice
//	format    such as uri or email, not checked; of the items, for a slice
//	default   JSON, or bare text for a string; see [Validator.Complete]
//	example   in the same form as default
//	header    x-mcp-header: HTTP header Mcp-Param-* into which clients copy the argument
//
// The error for a type without a schema names the type, the field and the remedy.
func For(t reflect.Type, o Options) (json.RawMessage, error) {
	text, _, err := infer(t, o)
	return text, err
}

// ForOutput is like [For] with Output set. certain reports whether every encoded value is valid, so
// that checks are unnecessary. It is false if a tag or the type's own schema allows less than the
// Go type can contain. A pointer is treated like its element.
func ForOutput(t reflect.Type, o Options) (text json.RawMessage, certain bool, err error) {
	o.Output = true
	text, s, err := infer(t, o)
	return text, err == nil && !s.contains(func(s *shape) bool { return s.narrowed || s.raw != nil && s != closed }), err
}

// infer builds the shape of a type and its text. The schema of a pointer does not allow null.
func infer(t reflect.Type, o Options) (text json.RawMessage, s *shape, err error) {
	t = indirect(t)
	b := &builder{Options: o, root: t, active: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	if s, err = b.shape(t); err == nil {
		s.Definitions = b.definitions
		err = s.checkHeaders("", true, map[string]string{})
	}
	if err == nil {
		text, err = Encode(nil, s)
	}
	if err == nil {
		_, err = Compile(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("no JSON schema for %s: %w", t, err)
	}
	return text, s, nil
}

// builder builds the shapes of one schema.
type builder struct {
	Options
	root        reflect.Type
	active      map[reflect.Type]bool   // structs and maps that are being built
	names       map[reflect.Type]string // references of recursive types
	definitions namedShapes
}

// shape builds the shape of a type.
func (b *builder) shape(t reflect.Type) (*shape, error) {
	if own, ok := b.given(t); ok {
		if _, err := Compile(own); err != nil {
			return nil, fmt.Errorf("the schema that %s was given: %w", t, err)
		}
		return &shape{raw: own}, nil
	}
	switch {
	case t.Kind() == reflect.Pointer:
		s, err := b.shape(t.Elem())
		if err != nil {
			return s, err
		}
		return s.nullable(), nil
	case t == timeType:
		return &shape{Types: types{"string"}, Format: "date-time"}, nil
	case t == durationType:
		return &shape{Types: types{"string"}, Format: "duration"}, nil
	case t == numberType:
		return typed("number"), nil
	case t == rawMessageType, t == jsontextValueType, implements(t, b.methods(readsJSON, writesJSON)...):
		return &shape{}, nil
	case implements(t, b.methods(readsText, writesText)...):
		return typed("string"), nil
	}
	return b.byKind(t)
}

func (b *builder) byKind(t reflect.Type) (*shape, error) {
	switch name := typeOf(t.Kind()); {
	case t.Kind() == reflect.Interface && t.NumMethod() > 0 && !b.Output:
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

// typeOf returns the JSON type for a kind of Go types. It returns "" for kinds that can have any
// JSON type or none.
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

// integer returns the shape of an integer type. If the type is too small for all integers that JSON
// programs handle exactly, the shape has bounds, which show a model the valid values.
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

// given returns the schema that a type defines itself or that the options contain for it.
func (b *builder) given(t reflect.Type) (json.RawMessage, bool) {
	if own, ok := b.Types[t]; ok {
		return own, true
	}
	switch {
	case t.Kind() == reflect.Interface:
		return nil, false
	case t.Kind() == reflect.Pointer: // treated like its element, or null
		return nil, false
	case t.Implements(schemerType):
		return reflect.Zero(t).Interface().(schemer).MCPSchema(), true
	case reflect.PointerTo(t).Implements(schemerType):
		return reflect.New(t).Interface().(schemer).MCPSchema(), true
	}
	return nil, false
}

// recurring builds the shape of a type that may contain itself. If it does, references to the root
// are #, and other types are moved to $defs.
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

// reference returns the $ref of a recursive type.
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
	if isBytes(t) && !implements(t.Elem(), slices.Concat(writesJSON, writesText)...) {
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
	if key := t.Key(); key.Kind() != reflect.String && typeOf(key.Kind()) != "integer" && !implements(key, b.methods(readsText, writesText)...) {
		return nil, fmt.Errorf("%s has keys that are neither strings nor integers: use map[string]%s", t, t.Elem())
	}
	values, err := b.shape(t.Elem())
	if err != nil {
		return nil, err
	}
	return &shape{Types: types{"object"}, Additional: values}, nil
}

func (b *builder) object(t reflect.Type) (*shape, error) {
	fields, rest, err := fieldsOf(t, b.Output)
	if err != nil {
		return nil, err
	}
	if opaque := len(fields) == 0 && rest == nil; !b.Output && !opaque {
		var unfit *jsonv2.SemanticError
		if errors.As(jsonv2.Unmarshal([]byte(`{}`), reflect.New(t).Interface(), strict), &unfit) {
			return nil, fmt.Errorf("%s cannot be decoded: %w", t, unfit.Err)
		}
	}
	s := &shape{Types: types{"object"}, Description: b.Docs[docKey(t)], Properties: namedShapes{}, Additional: closed}
	for _, f := range fields {
		p, err := b.field(f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		s.Properties = append(s.Properties, namedShape{f.name, p})
		if b.requires(f) {
			s.Required = append(s.Required, f.name)
		}
	}
	if rest != nil {
		s.Additional, err = b.shape(rest)
	}
	return s, err
}

// field builds the shape of a member.
func (b *builder) field(f field) (*shape, error) {
	s, err := b.shape(f.Type)
	if err != nil {
		return nil, err
	}
	f.codecs = b.Codecs
	if doc := b.Docs[docKey(f.owner)+"."+f.Name]; doc != "" {
		s.Description = doc
	}
	if err := applyTags(s, f, b.Output); err != nil {
		return nil, err
	}
	if (f.optional || f.maybe) && b.requires(f) {
		s.narrowed = true
	}
	return s, nil
}

// requires reports whether a member must be present. In output, the fields of an embedded pointer
// are absent if the pointer is nil.
func (b *builder) requires(f field) bool {
	return f.required() && (!b.Output || !f.maybe || f.Tag.Get("required") == "true")
}

// docKey returns the key of a type in Docs. All instances of a generic type have the same key.
func docKey(t reflect.Type) string { return t.PkgPath() + "." + baseName(t) }

// implements reports whether t or *t implements one of the interfaces.
func implements(t reflect.Type, interfaces ...reflect.Type) bool {
	return slices.ContainsFunc(interfaces, func(methods reflect.Type) bool {
		return t.Implements(methods) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(methods)
	})
}

// ReadsObjects returns an error for a struct that cannot be decoded from every object, because it
// has the JSON method of an embedded type, which may accept only other values.
func ReadsObjects(t reflect.Type) error {
	refused := refusal(t)
	if t.Kind() != reflect.Struct || refused == "" {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if inner := indirect(f.Type); f.Anonymous && refusal(inner) == refused || f.Anonymous && refused == ofNil && inner != f.Type {
			return fmt.Errorf("the embedded %s reads all of it, and takes no object: give the field a name", f.Type)
		}
	}
	return nil
}

// ofNil is the result of [refusal] for a method that panics, such as a method of an embedded nil
// pointer.
const ofNil = "panic"

// refusal returns the error text of a type's own JSON method when it decodes an object. It returns
// "" if the type has no such method or if the method returns no error.
func refusal(t reflect.Type) (text string) {
	defer func() {
		if recover() != nil {
			text = ofNil
		}
	}()
	if own, ok := reflect.New(t).Interface().(jsonv2.Unmarshaler); ok {
		if err := own.UnmarshalJSON([]byte(`{}`)); err != nil {
			return err.Error()
		}
	}
	return ""
}

// methods returns reads if values are decoded, and writes if they are encoded.
func (b *builder) methods(reads, writes []reflect.Type) []reflect.Type {
	if b.Output {
		return writes
	}
	return reads
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
