package schema

import (
	"bytes"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Limits for reading a schema, which may come from a malicious server.
const (
	maxViewed       = 64 << 20 // bytes that references and alternatives lead to, for one schema
	maxViewParts    = 256      // schemas that apply to the same value
	maxAlternatives = 1_000    // alternatives that are examined for one result
	maxReference    = 1_000    // bytes of a reference
)

// A View gives read access to a part of a JSON Schema. The keywords of a part include the keywords
// in the target of its $ref and in its allOf. Only references within the schema are followed. The
// zero View is a schema that allows any value. All views of a schema must be used by one goroutine
// at a time.
type View struct {
	of  *viewed
	raw json.RawMessage
}

// viewed is a whole schema, with data that its views share.
type viewed struct {
	root    json.RawMessage
	places  map[*byte]map[string]json.RawMessage // members of objects that references lead through; the keys are pointers to the first bytes of the objects
	anchors map[string]json.RawMessage
	parts   map[*byte][]View // result of View.parts; the keys are pointers to the first bytes of the schemas
	read    int              // number of bytes read so far; at most maxViewed
}

// Look returns the view of a whole schema. schema must be valid JSON or nil.
func Look(schema json.RawMessage) View {
	schema = bytes.TrimSpace(schema)
	return View{&viewed{root: schema, places: map[*byte]map[string]json.RawMessage{}, parts: map[*byte][]View{}}, schema}
}

// Raw returns the text of the part. It returns nil for the zero View.
func (v View) Raw() json.RawMessage { return v.raw }

// At returns the view of raw, which must be a piece of the part's text.
func (v View) At(raw json.RawMessage) View {
	if v.of == nil {
		return Look(raw)
	}
	return View{v.of, raw}
}

// Get returns the value of a keyword, or nil. A keyword in the part itself has precedence over one
// in its references.
func (v View) Get(keyword string) json.RawMessage {
	if value := jsonrpc.Get(v.raw, keyword); value != nil {
		return value
	}
	for _, p := range v.parts()[1:] {
		if value := jsonrpc.Get(p.raw, keyword); value != nil {
			return value
		}
	}
	return nil
}

// Text returns the value of a keyword if it is a string, or "".
func (v View) Text(keyword string) string { return unquote(v.Get(keyword)) }

// parts returns the part, and the schemas in the targets of its $ref and in its allOf. Each schema
// is returned once.
func (v View) parts() []View {
	if len(v.raw) == 0 {
		return []View{v}
	}
	if known := v.of.parts[&v.raw[0]]; known != nil {
		return known
	}
	parts := []View{v}
	for i := 0; i < len(parts); i++ {
		add := func(raw []byte) bool {
			if len(raw) > 0 && !slices.ContainsFunc(parts, func(p View) bool { return &p.raw[0] == &raw[0] }) {
				parts = append(parts, v.At(raw))
			}
			return len(parts) < maxViewParts && v.spend(raw)
		}
		if ref, ok := jsonrpc.Unquote(jsonrpc.Get(parts[i].raw, "$ref")); ok && len(parts) < maxViewParts {
			add(v.Target(ref).raw)
		}
		if all := jsonrpc.Get(parts[i].raw, "allOf"); all != nil && len(parts) < maxViewParts {
			jsonrpc.EachElement(all, add)
		}
	}
	v.of.parts[&v.raw[0]] = parts
	return parts
}

// spend reports whether raw may be read without exceeding maxViewed.
func (v View) spend(raw []byte) bool {
	v.of.read += len(raw) + 64 // an estimate of the memory that the schema needs too
	return v.of.read <= maxViewed
}

// Target returns the part to which a reference leads. It returns the zero View if the schema does
// not contain this part.
func (v View) Target(ref string) View {
	if v.of == nil || len(ref) > maxReference || v.of.read > maxViewed {
		return View{}
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		id := strings.TrimSuffix(unquote(memberOf(v.of.root, "$id")), "#")
		pointer, ok = strings.CutPrefix(ref, id+"#")
	}
	switch {
	case !ok:
		return View{}
	case pointer != "" && pointer[0] != '/':
		return v.anchored(pointer)
	}
	here := v.of.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer != "" {
			here = v.of.step(here, token)
		}
	}
	if here == nil {
		return View{}
	}
	return v.At(here)
}

// step follows one token of a JSON Pointer.
func (d *viewed) step(here json.RawMessage, token string) json.RawMessage {
	if strings.ContainsAny(token, "%~") {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = unescapeToken(token)
	}
	switch kindAt(here, 0) {
	case kindObject:
		known, ok := d.places[&here[0]]
		if !ok {
			known = map[string]json.RawMessage{}
			jsonrpc.EachMember(here, func(name, value []byte) bool {
				known[unquote(name)] = value
				return true
			})
			d.places[&here[0]] = known
		}
		return known[token]
	case kindArray:
		i, err := strconv.Atoi(token)
		if list, _ := elements(here); err == nil && i >= 0 && i < len(list) {
			return list[i]
		}
	}
	return nil
}

// anchored returns the first part that has the given $anchor.
func (v View) anchored(name string) View {
	if v.of.anchors == nil {
		v.of.anchors = map[string]json.RawMessage{}
		var look func(View, int)
		look = func(s View, depth int) {
			if anchor := unquote(jsonrpc.Get(s.raw, "$anchor")); anchor != "" && v.of.anchors[anchor] == nil {
				v.of.anchors[anchor] = s.raw
			}
			s.Within(func(_, _ string, inner View) {
				if depth < maxSchemaDepth {
					look(inner, depth+1)
				}
			})
		}
		look(v.At(v.of.root), 0)
	}
	return v.At(v.of.anchors[name])
}

// A Property is a member that the schema of an object names.
type Property struct {
	Name     string
	Required bool
	View
}

// Properties returns the members that the schema names, in the order of the schema. Each member is
// returned once.
func (v View) Properties() iter.Seq[Property] {
	return func(yield func(Property) bool) {
		required, seen := map[string]bool{}, map[string]bool{}
		for _, p := range v.parts() {
			jsonrpc.EachElement(jsonrpc.Get(p.raw, "required"), func(name []byte) bool {
				required[unquote(name)] = true
				return true
			})
		}
		for _, p := range v.parts() {
			going := true
			jsonrpc.EachMember(jsonrpc.Get(p.raw, "properties"), func(quoted, value []byte) bool {
				if name := unquote(quoted); !seen[name] {
					seen[name] = true
					going = yield(Property{name, required[name], v.At(value)})
				}
				return going
			})
			if !going {
				return
			}
		}
	}
}

// Choices returns the values that const or enum allow. It returns nil if the schema does not list
// the allowed values.
func (v View) Choices() (values []json.RawMessage) {
	if value := v.Get("const"); value != nil {
		return []json.RawMessage{value}
	}
	jsonrpc.EachElement(v.Get("enum"), func(value []byte) bool {
		values = append(values, value)
		return true
	})
	return values
}

// Alternatives returns the schemas in anyOf and oneOf.
func (v View) Alternatives() iter.Seq[View] {
	return func(yield func(View) bool) {
		for _, p := range v.parts() {
			for _, keyword := range []string{"anyOf", "oneOf"} {
				going := true
				jsonrpc.EachElement(jsonrpc.Get(p.raw, keyword), func(value []byte) bool {
					going = v.spend(value) && yield(v.At(value))
					return going
				})
				if !going {
					return
				}
			}
		}
	}
}

// Types returns the JSON types that a value may have: the declared types, or the types of the
// choices and alternatives. It returns nil if all types are possible.
func (v View) Types() []string {
	left := maxAlternatives
	return v.types(nil, &left)
}

func (v View) types(found []string, left *int) []string {
	if *left--; *left < 0 {
		return found
	}
	add := func(name string) {
		if name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if declared := v.Get("type"); declared != nil {
		add(unquote(declared))
		jsonrpc.EachElement(declared, func(value []byte) bool {
			add(unquote(value))
			return true
		})
		return found
	}
	before := len(found)
	for _, value := range v.Choices() {
		add(TypeOf(value))
	}
	for alternative := range v.Alternatives() {
		found = alternative.types(found, left)
	}
	if len(found) == before && v.Get("properties") != nil {
		add("object")
	}
	return found
}

// TypeOf returns the name of the type of a JSON value. It returns "number" for all numbers.
func TypeOf(value []byte) string {
	kind := kindAt(value, 0)
	for _, t := range typeNames {
		if t.kind == kind {
			return t.name
		}
	}
	return ""
}

// With returns the view itself if it has the keyword. Otherwise it returns the first alternative
// that has the keyword, or the view if none has.
func (v View) With(keyword string) View {
	left := maxAlternatives
	return v.with(keyword, &left)
}

func (v View) with(keyword string, left *int) View {
	if *left--; *left < 0 || v.Get(keyword) != nil {
		return v
	}
	for alternative := range v.Alternatives() {
		if found := alternative.with(keyword, left); found.Get(keyword) != nil {
			return found
		}
	}
	return v
}

// Items returns the schema of the elements of an array. It may come from an alternative.
func (v View) Items() View { return v.At(v.With("items").Get("items")) }

// A Place tells where the value of a keyword contains schemas.
type Place uint8

// The places.
const (
	Nowhere Place = iota
	One           // the value is a schema
	List          // the value is an array of schemas
	Named         // the members of the value are schemas
)

// PlaceOf returns the place of schemas in the value of a keyword.
func PlaceOf(keyword string) Place {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return Named
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema",
		"additionalItems", "unevaluatedItems", "unevaluatedProperties":
		return One
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return List
	}
	return Nowhere
}

// Within calls see for each schema that is directly inside the part. name is its name or index in
// the keyword's value, or "" if the value is a single schema.
func (v View) Within(see func(keyword, name string, inner View)) {
	jsonrpc.EachMember(v.raw, func(quoted, value []byte) bool {
		keyword, i := unquote(quoted), 0
		place := PlaceOf(keyword)
		if place == One && kindAt(value, 0) == kindArray { // items of old drafts
			place = List
		}
		switch place {
		case One:
			see(keyword, "", v.At(value))
		case List:
			jsonrpc.EachElement(value, func(value []byte) bool {
				see(keyword, strconv.Itoa(i), v.At(value))
				i++
				return true
			})
		case Named:
			jsonrpc.EachMember(value, func(name, value []byte) bool {
				see(keyword, unquote(name), v.At(value))
				return true
			})
		}
		return true
	})
}

// Merged returns an object with the keywords of the part and of the schemas in its $ref and allOf.
// Each keyword occurs once.
func (v View) Merged() json.RawMessage {
	parts := v.parts()
	if len(parts) == 1 {
		return v.raw
	}
	w, names := jsonrpc.NewObject(nil), []string{"$ref", "allOf"}
	for _, p := range parts {
		w.Members(p.raw, names...)
		jsonrpc.EachMember(p.raw, func(quoted, _ []byte) bool {
			names = append(names, unquote(quoted))
			return true
		})
	}
	return w.Bytes()
}

// Alone returns the part as a separate schema, with the definitions of the whole schema. It omits
// the keywords in without.
func (v View) Alone(without ...string) json.RawMessage {
	without = append(without, "$schema")
	w := jsonrpc.NewObject(nil)
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		if value := jsonrpc.Get(v.of.root, name); value != nil && (name == "$schema" || jsonrpc.Get(v.raw, name) == nil) {
			w.Raw(name, value)
		}
	}
	w.Members(v.raw, without...)
	return w.Bytes()
}

// OfObject returns the schema of a tool's input with "type": "object", which the specification
// requires (2026-07-28 server/tools). It replaces another type or adds the missing one. It returns
// a schema that is not an object unchanged.
func OfObject(input json.RawMessage) json.RawMessage {
	if string(jsonrpc.Get(input, "type")) == `"object"` || len(input) > 0 && input[0] != '{' {
		return input
	}
	w := jsonrpc.NewObject(nil)
	w.String("type", "object")
	w.Members(input, "type")
	return w.Bytes()
}
