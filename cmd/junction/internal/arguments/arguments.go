package arguments

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/schema"
)

// ReadFile reads the file that a word names after an @. The name "-" means standard input.
type ReadFile func(name string) ([]byte, error)

// Build returns one JSON object for words, by the rules in the package comment. The error names the
// argument and the valid ones. Without a schema every value is a string, unless it is written with
// := .
func Build(typing json.RawMessage, words []string, read ReadFile) (json.RawMessage, error) {
	top := &object{schema: schema.Look(typing), typed: typing != nil}
	for _, word := range words {
		if strings.HasPrefix(word, "{") {
			return nil, fmt.Errorf("argument %q: a JSON object holds all arguments; give nothing else with it", word)
		}
		key, value, found := strings.Cut(word, "=")
		if !found || key == "" || key == ":" {
			return nil, fmt.Errorf("argument %q: expected key=value, or key:=JSON", word)
		}
		key, forced := strings.CutSuffix(key, ":")
		target, err := top.find(key, key)
		if err != nil {
			return nil, err
		}
		given, err := load(key, value, read)
		if err != nil {
			return nil, err
		}
		given.forced = forced
		target.given = append(target.given, given)
	}
	return top.encode("")
}

// A text is the text of an argument on the command line.
type text struct {
	text   string
	forced bool // whether it is JSON
	file   bool // whether it is the content of a file
}

func load(key, value string, read ReadFile) (text, error) {
	name, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return text{text: value}, nil
	}
	if strings.HasPrefix(name, "@") {
		return text{text: name}, nil
	}
	data, err := read(name)
	if err != nil {
		return text{}, fmt.Errorf("argument %q: %w (to give text that begins with @, write @@)", key, err)
	}
	return text{string(data), false, true}, nil
}

// An object is a JSON object that is being built.
type object struct {
	schema  schema.View
	typed   bool
	members []*value
}

// A value is a member of an object: the texts for it, or another object.
type value struct {
	name   string
	path   string
	schema schema.View
	typed  bool
	given  []text
	object *object
	nested bool // whether it is an element of a list, so that one text does not become a list again
}

// find returns the member for a key. It is the member with that name. If there is none, and the key
// has a dot, it is a member of the object before the dot.
func (o *object) find(key, path string) (*value, error) {
	if !o.typed {
		return o.member(Field{Name: key}, path), nil
	}
	described := o.schema.With("properties")
	fields := fieldsOf(described)
	if f := named(fields, key); f != nil {
		return o.member(*f, path), nil
	}
	for at := strings.LastIndexByte(key, '.'); at > 0; at = strings.LastIndexByte(key[:at], '.') {
		f := named(fields, key[:at])
		if f == nil {
			continue
		}
		if types := f.schema.Types(); len(types) > 0 && !slices.Contains(types, "object") {
			return nil, fmt.Errorf("argument %q: %q is not an object, but %s", path, f.Name, f.Type)
		}
		v := o.member(*f, strings.TrimSuffix(path, key[at:]))
		if v.object == nil {
			v.object = &object{schema: f.schema, typed: true}
		}
		return v.object.find(key[at+1:], path)
	}
	if open(described) || len(fields) == 0 && o.schema.Get("additionalProperties") == nil && o.schema.Get("properties") == nil {
		more := described.Get("additionalProperties")
		return o.member(Field{Name: key, schema: o.schema.At(more)}, path), nil
	}
	return nil, unknown(path, key, fields)
}

func named(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

func unknown(path, key string, fields []Field) error {
	if len(fields) == 0 {
		return fmt.Errorf("unknown argument %q: the tool takes no arguments", path)
	}
	var names, shown []string
	for _, f := range fields {
		names = append(names, f.Name)
		shown = append(shown, f.String())
	}
	hint := ""
	if near := nearest.Name(key, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("unknown argument %q%s (there are: %s)", path, hint, strings.Join(shown, ", "))
}

// String returns the name and type of the field.
func (f Field) String() string {
	kind := f.Type
	if f.Required {
		kind += ", required"
	}
	return f.Name + " (" + kind + ")"
}

func (o *object) member(f Field, path string) *value {
	for _, m := range o.members {
		if m.name == f.Name {
			return m
		}
	}
	m := &value{name: f.Name, path: path, schema: f.schema, typed: o.typed}
	o.members = append(o.members, m)
	return m
}

func (o *object) encode(path string) (json.RawMessage, error) {
	if err := o.missing(path); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, m.name), ':')
		encoded, err := m.encode()
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", m.path, err)
		}
		out = append(out, encoded...)
	}
	return append(out, '}'), nil
}

// missing returns an error that names all required members without a value.
func (o *object) missing(path string) error {
	if !o.typed {
		return nil
	}
	var names []string
	for _, f := range fieldsOf(o.schema.With("properties")) {
		if f.Required && !slices.ContainsFunc(o.members, func(m *value) bool { return m.name == f.Name }) {
			names = append(names, fmt.Sprintf("%s%s (%s)", path, f.Name, f.Type))
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("argument missing: %s is required", names[0])
	}
	return fmt.Errorf("arguments missing: %s are required", strings.Join(names, ", "))
}

func (v *value) encode() (json.RawMessage, error) {
	if v.object != nil {
		if len(v.given) > 0 {
			return nil, fmt.Errorf("given both as a whole and by its members; use one form")
		}
		return v.object.encode(v.path + ".")
	}
	if len(v.given) == 1 {
		return v.one(v.given[0])
	}
	if types := v.schema.Types(); !v.typed || len(types) > 0 && !slices.Contains(types, "array") {
		return nil, fmt.Errorf("given %d times, but it is not a list; give it once", len(v.given))
	}
	return v.list(v.given)
}

// one encodes the only text for a value.
func (v *value) one(t text) (json.RawMessage, error) {
	if t.forced {
		if fault := jsonrpc.Valid([]byte(t.text), jsonrpc.Limits{}); fault != nil {
			return nil, fmt.Errorf("the value after := must be JSON: %s", fault.Message)
		}
		return json.RawMessage(strings.TrimSpace(t.text)), nil
	}
	if !v.typed {
		return quote(t, v.schema)
	}
	if encoded := typed(t, v.schema.Types()); encoded != nil {
		return encoded, nil
	}
	return v.listOrText(t)
}

func (v *value) listOrText(t text) (json.RawMessage, error) {
	types := v.schema.Types()
	switch {
	case len(types) == 0 || slices.Contains(types, "string"):
		return quote(t, v.schema)
	case slices.Contains(types, "array") && t.text == "":
		return json.RawMessage("[]"), nil
	case slices.Contains(types, "array") && !v.nested:
		return v.list([]text{t})
	}
	return nil, fmt.Errorf("expected %s, got %.60q", describe(v.schema), t.text)
}

func (v *value) list(elements []text) (json.RawMessage, error) {
	element := value{name: v.name, path: v.path, schema: v.schema.Items(), typed: true, nested: true}
	out := []byte{'['}
	for i, t := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		encoded, err := element.one(t)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		out = append(out, encoded...)
	}
	return append(out, ']'), nil
}

// typed returns the text as JSON if it is valid JSON of one of the types other than string. With no
// types, any type is valid.
func typed(t text, types []string) json.RawMessage {
	word := json.RawMessage(strings.TrimSpace(t.text))
	if len(word) == 0 || word[0] == '"' || jsonrpc.Valid(word, jsonrpc.Limits{}) != nil {
		return nil
	}
	has := func(name string) bool { return len(types) == 0 || slices.Contains(types, name) }
	switch kind := schema.TypeOf(word); {
	case kind == "null" && len(types) > 0 && has("string"):
		return nil // the word null is a string
	case kind == "number" && !has("number"):
		if has("integer") && whole(string(word)) {
			return word
		}
		return nil
	case !has(kind):
		return nil
	}
	return word
}

// whole reports whether a JSON number is written as an integer.
func whole(number string) bool {
	integer, fraction, _ := strings.Cut(number, ".")
	return strings.Trim(fraction, "0") == "" && !strings.ContainsAny(integer, "eE")
}

// quote returns the text as a JSON string. The content of a file is encoded in base64 if the schema
// requires that.
func quote(t text, v schema.View) (json.RawMessage, error) {
	if t.file && (v.Text("contentEncoding") == "base64" || v.Text("format") == "byte") {
		return jsonrpc.AppendString(nil, base64.StdEncoding.EncodeToString([]byte(t.text))), nil
	}
	if !utf8.ValidString(t.text) {
		return nil, fmt.Errorf("the text is not valid UTF-8; encode it, for example with base64")
	}
	return jsonrpc.AppendString(nil, t.text), nil
}
