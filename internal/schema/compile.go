package schema

import (
	"fmt"
	"strings"
)

// compiler turns a schema's text into checks.
type compiler struct {
	draft     draft
	documents map[string]location // the root and whatever has an $id, by absolute URI
	anchors   map[string]location // by URI#name
	dynamic   map[string][]string // the keys in anchors of each $dynamicAnchor, by its name
	targets   map[string]*check   // what a $dynamicRef may lead to, by the name of the anchor
	objects   map[*byte]map[string][]byte
	arrays    map[*byte][][]byte
	refs      map[string]*check // by URI#fragment; entered before it is filled, so that schemas can recur
	base      string            // what references are relative to
	path      []step            // where in the schema we are, for messages
	beyond    bool              // some keyword needs the general validator
}

// compile prepares a schema. beyond tells that the checks do not say all the
// schema does, because it has keywords of the general validator.
func compile(text []byte, d draft) (root *check, beyond bool, err error) {
	c := &compiler{
		draft:     d,
		documents: map[string]location{},
		anchors:   map[string]location{},
		dynamic:   map[string][]string{},
		targets:   map[string]*check{},
		objects:   map[*byte]map[string][]byte{},
		arrays:    map[*byte][][]byte{},
		refs:      map[string]*check{},
		base:      documentURI,
	}
	at := location{text: text, base: documentURI}
	c.documents[documentURI] = at
	if err := c.index(text, documentURI, nil, false); err != nil {
		return nil, false, err
	}
	if root, err = c.compileAt(documentURI+"#", at); err == nil {
		err = measureChains(root)
	}
	return root, c.beyond, err
}

func memberOf(raw []byte, name string) []byte {
	list, _ := members(raw)
	for _, m := range list {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

func newCheck() *check {
	return &check{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minMembers: -1, maxMembers: -1,
		minContains: 1, maxContains: -1}
}

// wrong says that a keyword's value is not what JSON Schema has there.
func (c *compiler) wrong(expected string, raw []byte) error {
	v := Violation{Path: formatPath(c.path), Expected: expected, Got: excerpt(raw)}
	return fmt.Errorf("schema is not a valid JSON Schema: %w", &Error{Violations: []Violation{v}})
}

// within calls f with the path one step further.
func (c *compiler) within(s step, f func() error) error {
	c.path = append(c.path, s)
	err := f()
	c.path = c.path[:len(c.path)-1]
	return err
}

// schema compiles a schema in place; nil allows anything.
func (c *compiler) schema(raw []byte) (*check, error) {
	if string(raw) == "true" || string(raw) == "{}" {
		return nil, nil
	}
	target := newCheck()
	return target, c.fill(target, raw)
}

func (c *compiler) fill(target *check, raw []byte) error {
	list, ok := members(raw)
	switch {
	case string(raw) == "true":
		return nil
	case string(raw) == "false":
		target.never = true
		return nil
	case !ok:
		return c.wrong("object or boolean", raw)
	}
	if ref := memberOf(raw, "$ref"); ref != nil && c.draft <= draft7 {
		return c.keyword(target, "$ref", ref) // siblings of $ref have no meaning there
	}
	defer func(base string) { c.base = base }(c.base)
	var err error
	if c.base, err = c.baseOf(list, c.base); err != nil {
		return err
	}
	for _, m := range list {
		name := string(m.name)
		if !c.draft.has(name) {
			continue
		}
		if err := c.within(step{name: name, index: -1}, func() error { return c.keyword(target, name, m.value) }); err != nil {
			return err
		}
	}
	target.finish()
	return c.dialectOf(raw)
}

// dialectOf refuses a schema within the schema that is of another dialect.
func (c *compiler) dialectOf(raw []byte) error {
	if d, err := draftOf(raw); err != nil || d == c.draft || memberOf(raw, "$schema") == nil {
		return err
	}
	return fmt.Errorf("schema has a part in another dialect, %q: use one for the whole", clip(string(memberOf(raw, "$schema"))))
}

// finish derives what speeds up the walk.
func (c *check) finish() {
	if c.types&kindNumber != 0 {
		c.types &^= kindInteger
	}
	if c.strictMin {
		c.minimum, c.exclusiveMin = nil, c.minimum
	}
	if c.strictMax {
		c.maximum, c.exclusiveMax = nil, c.maximum
	}
	c.guided = c.all != nil || c.any != nil || c.one != nil || c.refuse != nil || c.condition != nil
	c.manyItems = c.prefix != nil || c.contains != nil || c.unique
	c.manyMembers = c.patterns != nil || c.names != nil || c.dependents != nil
}

// keyword compiles one member of a schema.
func (c *compiler) keyword(t *check, name string, raw []byte) (err error) {
	switch name {
	case "type":
		t.types, err = c.parseTypes(raw)
	case "enum", "const":
		err = c.constants(t, name, raw)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		err = c.bound(t, name, raw)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		err = c.count(t, name, raw)
	case "pattern":
		err = c.pattern(t, raw)
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
		"dependentRequired", "dependentSchemas", "dependencies":
		err = c.object(t, name, raw)
	case "items", "prefixItems", "additionalItems", "contains", "uniqueItems":
		err = c.array(t, name, raw)
	case "allOf", "anyOf", "oneOf":
		err = c.combine(t, name, raw)
	case "not", "if", "then", "else":
		err = c.condition(t, name, raw)
	case "$ref":
		err = c.reference(t, raw)
	case "$defs", "definitions":
		err = c.definitions(name, raw)
	case "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef", "$recursiveAnchor":
		err = c.general(t, name, raw)
	default:
		err = c.annotation(t, name, raw)
	}
	return err
}

// annotation passes what constrains nothing, if it is of the right type.
// Names that JSON Schema does not know are annotations.
func (c *compiler) annotation(t *check, name string, raw []byte) error {
	k := kindAt(raw, 0)
	switch name {
	case "format":
		t.format = string(unquote(raw, true))
		fallthrough
	case "title", "description", "$comment", "$schema", "$id", "$anchor", "$dynamicAnchor", "contentEncoding", "contentMediaType":
		if k != kindString {
			return c.wrong("string", raw)
		}
	case "examples":
		if k != kindArray {
			return c.wrong("array", raw)
		}
	case "deprecated", "readOnly", "writeOnly":
		if k != kindBoolean {
			return c.wrong("boolean", raw)
		}
	case "$vocabulary":
		if k != kindObject {
			return c.wrong("object", raw)
		}
	}
	return nil
}

// general notes the keywords that only the general validator checks. Their
// schemas are compiled all the same, to find cycles and to price a validation.
func (c *compiler) general(t *check, name string, raw []byte) (err error) {
	if name == "$recursiveAnchor" && string(raw) == "false" {
		return nil
	}
	if c.draft != draft2020 {
		return fmt.Errorf("schema dialect %s is supported without %s: write the schema for https://json-schema.org/draft/2020-12/schema", c.draft, name)
	}
	c.beyond = true
	switch name {
	case "unevaluatedItems":
		t.otherItems, err = c.schema(raw)
	case "unevaluatedProperties":
		t.otherMembers, err = c.schema(raw)
	case "$dynamicRef":
		err = c.dynamicReference(t, raw)
	}
	return err
}

func (c *compiler) combine(t *check, name string, raw []byte) error {
	list, err := c.schemas(raw)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return c.wrong("array of at least 1 item", raw)
	case name == "allOf":
		t.all = append(t.all, list...)
	case name == "anyOf":
		t.any = list
	case name == "oneOf":
		t.one = list
	}
	return nil
}

// schemas compiles an array of schemas.
func (c *compiler) schemas(raw []byte) (list []*check, err error) {
	texts, ok := elements(raw)
	if !ok {
		return nil, c.wrong("array", raw)
	}
	for i, text := range texts {
		err := c.within(step{index: i}, func() error {
			sub, err := c.schema(text)
			list = append(list, sub)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// each calls f for each member of an object.
func (c *compiler) each(raw []byte, f func(name string, raw []byte) error) error {
	list, ok := members(raw)
	if !ok {
		return c.wrong("object", raw)
	}
	for _, m := range list {
		name := string(m.name)
		if err := c.within(step{name: name, index: -1}, func() error { return f(name, m.value) }); err != nil {
			return err
		}
	}
	return nil
}

// condition compiles the keywords that turn on whether a schema fits. A check
// that allows anything stands for true, because nil stands for absent.
func (c *compiler) condition(t *check, name string, raw []byte) error {
	sub, err := c.schema(raw)
	if err != nil {
		return err
	}
	if sub == nil {
		sub = newCheck()
	}
	switch name {
	case "not":
		t.refuse = sub
	case "if":
		t.condition = sub
	case "then":
		t.then = sub
	case "else":
		t.otherwise = sub
	}
	return nil
}

// definitions compiles what no $ref may have named yet, to find its errors.
func (c *compiler) definitions(keyword string, raw []byte) error {
	root := c.documents[documentURI].text
	shared := memberOf(root, keyword)
	return c.each(raw, func(name string, text []byte) error {
		if len(shared) == 0 || &shared[0] != &raw[0] {
			_, err := c.schema(text)
			return err
		}
		name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		at := location{text: text, base: c.base, path: append([]step(nil), c.path...)}
		_, err := c.compileAt(c.base+"#/"+keyword+"/"+name, at)
		return err
	})
}
