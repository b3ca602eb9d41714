package schema

import (
	"errors"
	"fmt"
	"strings"
)

// errBeyondSubset says that a schema needs the general validator, which also
// judges whether it is a schema at all.
var errBeyondSubset = errors.New("schema is beyond the subset of the fast validator")

// compiler turns a schema's text into checks.
type compiler struct {
	root  []byte
	draft draft
	refs  map[string]*check // by pointer; entered before it is filled, so that schemas can recur
}

func compileFast(text []byte, d draft) (*check, error) {
	if d < draft7 {
		return nil, errBeyondSubset
	}
	c := &compiler{root: text, draft: d, refs: map[string]*check{}}
	root, err := c.resolve("#")
	if err != nil {
		return nil, err
	}
	return root, measureChains(root)
}

// resolve compiles the schema that a local $ref names.
func (c *compiler) resolve(ref string) (*check, error) {
	if done, ok := c.refs[ref]; ok {
		return done, nil
	}
	text, err := c.find(ref)
	if err != nil {
		return nil, err
	}
	target := newCheck()
	c.refs[ref] = target
	return target, c.fill(target, text)
}

// find returns the text a $ref names. Only definitions of this schema are
// within the subset.
func (c *compiler) find(ref string) ([]byte, error) {
	if ref == "#" {
		return c.root, nil
	}
	if strings.ContainsAny(ref, "%~") {
		return nil, errBeyondSubset
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(ref, "#/"+keyword+"/")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		if text := memberOf(memberOf(c.root, keyword), name); text != nil {
			return text, nil
		}
		return nil, fmt.Errorf("schema has a $ref to %q, which it does not define: add it under %q", clip(ref), keyword)
	}
	return nil, errBeyondSubset
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
	return &check{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minMembers: -1, maxMembers: -1}
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
	switch string(raw) {
	case "true":
		return nil
	case "false":
		target.never = true
		return nil
	}
	list, ok := members(raw)
	if !ok {
		return errBeyondSubset
	}
	if ref := memberOf(raw, "$ref"); ref != nil && c.draft == draft7 {
		return c.keyword(target, "$ref", ref) // siblings of $ref have no meaning there
	}
	for _, m := range list {
		if err := c.keyword(target, string(m.name), m.value); err != nil {
			return err
		}
	}
	target.finish()
	return nil
}

// finish derives what speeds up the walk.
func (c *check) finish() {
	if c.types&kindNumber != 0 {
		c.types &^= kindInteger
	}
	if len(c.members) > fewMembers {
		c.index = make(map[string]int, len(c.members))
		for i, p := range c.members {
			c.index[p.name] = i
		}
	}
	for _, e := range c.enum {
		c.enumWork += 1 + len(e.text)>>6
	}
	c.guided = c.all != nil || c.any != nil || c.one != nil || c.refuse != nil
}

// keyword compiles one member of a schema.
func (c *compiler) keyword(t *check, name string, raw []byte) (err error) {
	switch name {
	case "type":
		t.types, err = parseTypes(raw)
	case "enum", "const":
		err = t.addConstants(name, raw)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		err = t.addBound(name, raw)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		err = t.addCount(name, raw)
	case "pattern":
		err = t.addPattern(raw)
	case "format":
		if kindAt(raw, 0) != kindString {
			return errBeyondSubset
		}
		t.format = string(unquote(raw, true))
	case "properties", "required", "additionalProperties":
		err = c.object(t, name, raw)
	case "items":
		t.items, err = c.schema(raw)
	case "allOf", "anyOf", "oneOf":
		err = c.combine(t, name, raw)
	case "not":
		if t.refuse, err = c.schema(raw); t.refuse == nil && err == nil {
			err = errBeyondSubset
		}
	case "$ref":
		err = c.reference(t, raw)
	case "$defs", "definitions":
		err = c.definitions(name, raw)
	default:
		err = c.other(name, raw)
	}
	return err
}

// other passes what constrains nothing, and leaves the rest to the general
// validator. Names that JSON Schema does not know are annotations.
func (c *compiler) other(name string, raw []byte) error {
	switch name {
	case "title", "description", "$comment":
		if kindAt(raw, 0) == kindString {
			return nil
		}
	case "examples":
		if kindAt(raw, 0) == kindArray {
			return nil
		}
	case "deprecated", "readOnly", "writeOnly":
		if kindAt(raw, 0) == kindBoolean {
			return nil
		}
	case "uniqueItems":
		if string(raw) == "false" {
			return nil
		}
	case "propertyNames":
		if string(raw) == `{"type":"string"}` {
			return nil
		}
	case "$schema", "$id": // the root's own name does not change what # means
		if c.atRoot(name, raw) && kindAt(raw, 0) == kindString {
			return nil
		}
	case "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
		"$vocabulary", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies",
		"prefixItems", "additionalItems", "contains", "minContains", "maxContains", "unevaluatedItems",
		"unevaluatedProperties", "patternProperties", "multipleOf",
		"contentEncoding", "contentMediaType", "contentSchema":
		if strings.HasPrefix(name, "content") && name != "contentSchema" && kindAt(raw, 0) == kindString {
			return nil
		}
	default:
		return nil
	}
	return errBeyondSubset
}

// object compiles the keywords about members.
func (c *compiler) object(t *check, name string, raw []byte) (err error) {
	switch name {
	case "additionalProperties":
		if string(raw) == "false" {
			t.closed = true
			return nil
		}
		t.additional, err = c.schema(raw)
		return err
	case "properties":
		return c.properties(t, raw)
	}
	list, ok := elements(raw)
	if !ok {
		return errBeyondSubset
	}
	for _, text := range list {
		if kindAt(text, 0) != kindString {
			return errBeyondSubset
		}
		at, err := t.place(string(unquote(text, true)))
		if err != nil || t.required.has(at) {
			return errBeyondSubset
		}
		t.required.add(at)
	}
	return nil
}

func (c *compiler) properties(t *check, raw []byte) error {
	list, ok := members(raw)
	if !ok {
		return errBeyondSubset
	}
	for _, m := range list {
		sub, err := c.schema(m.value)
		if err != nil {
			return err
		}
		at, err := t.place(string(m.name))
		if err != nil {
			return err
		}
		t.members[at].check, t.members[at].declared = sub, true
	}
	return nil
}

// place finds or makes the property of this name.
func (c *check) place(name string) (int, error) {
	for i := range c.members {
		if c.members[i].name == name {
			return i, nil
		}
	}
	if len(c.members) == maxMembers {
		return 0, errBeyondSubset
	}
	c.members = append(c.members, property{name: name})
	return len(c.members) - 1, nil
}

func (c *compiler) combine(t *check, name string, raw []byte) error {
	texts, ok := elements(raw)
	if !ok || len(texts) == 0 {
		return errBeyondSubset
	}
	var list []*check
	for _, text := range texts {
		sub, err := c.schema(text)
		if err != nil {
			return err
		}
		list = append(list, sub)
	}
	switch name {
	case "allOf":
		t.all = append(t.all, list...)
	case "anyOf":
		t.any = list
	case "oneOf":
		t.one = list
	}
	return nil
}

func (c *compiler) reference(t *check, raw []byte) error {
	if kindAt(raw, 0) != kindString {
		return errBeyondSubset
	}
	target, err := c.resolve(string(unquote(raw, true)))
	if err != nil {
		return err
	}
	t.all = append(t.all, target)
	t.guided = true
	return nil
}

// atRoot tells whether raw is the value of this member of the root schema.
func (c *compiler) atRoot(name string, raw []byte) bool {
	value := memberOf(c.root, name)
	return len(value) > 0 && len(raw) > 0 && &value[0] == &raw[0]
}

// definitions compiles what no $ref may have named yet, to find its errors.
func (c *compiler) definitions(keyword string, raw []byte) error {
	list, ok := members(raw)
	if !ok {
		return errBeyondSubset
	}
	for _, m := range list {
		if !c.atRoot(keyword, raw) || strings.ContainsAny(string(m.name), "%~/") {
			return errBeyondSubset
		}
		if _, err := c.resolve("#/" + keyword + "/" + string(m.name)); err != nil {
			return err
		}
	}
	return nil
}
