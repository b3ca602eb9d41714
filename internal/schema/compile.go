package schema

import (
	"slices"
	"strings"
)

// compiler turns a schema's text into checks. It reads the keywords that [For] writes; others, and
// unsupported values, set beyond.
type compiler struct {
	draft       draft
	definitions map[string][]byte // by reference, such as #/$defs/name
	refs        map[string]*check // entries precede their content, so that schemas can recur
	depth       int               // number of enclosing schemas
	patterns    int               // in instructions
	beyond      bool              // the checks do not cover the whole schema
	foreign     bool              // the compiler may misinterpret a reference
}

// compile prepares a schema. If beyond is true, the check allows everything that the schema allows,
// but does not refuse everything that it forbids.
func compile(text []byte, d draft) (root *check, beyond bool) {
	root = newCheck()
	c := &compiler{draft: d, definitions: map[string][]byte{}, refs: map[string]*check{"#": root}}
	for _, keyword := range []string{"$defs", "definitions"} {
		list, _ := members(memberOf(text, keyword))
		for _, m := range list {
			c.definitions["#/"+keyword+"/"+m.name] = m.value
		}
	}
	c.fill(root, text)
	for _, t := range c.refs {
		c.foreign = c.foreign || t.target() == nil // a cycle, which the library's graph refuses
	}
	if c.foreign {
		return nil, true
	}
	return root, c.beyond
}

// schema compiles a schema; nil allows any value.
func (c *compiler) schema(raw []byte) *check {
	if string(raw) == "true" || string(raw) == "{}" {
		return nil
	}
	t := newCheck()
	c.fill(t, raw)
	return t
}

// nextToRef lists the keywords that the single pass allows next to a $ref.
var nextToRef = strings.Fields("$defs definitions $schema title description default examples")

func (c *compiler) fill(t *check, raw []byte) {
	list, ok := members(raw)
	if t.never = string(raw) == "false"; !ok {
		c.beyond = c.beyond || !t.never && string(raw) != "true"
		return
	}
	for i, m := range list {
		if refers := m.name == "$ref"; refers || m.name == "anyOf" && orNull(m.value) != nil {
			for j, other := range list {
				ignored := refers && c.draft == draft7 || slices.Contains(nextToRef, other.name)
				c.beyond = c.beyond || i != j && !ignored
				c.foreign = c.foreign || other.name == "$id"
			}
			list = list[i : i+1]
			break
		}
	}
	c.depth++
	for _, m := range list {
		if !c.keyword(t, m.name, m.value) {
			c.beyond = true
		}
	}
	c.depth--
	says := func(keyword string) bool {
		return slices.ContainsFunc(list, func(m member) bool { return m.name == keyword })
	}
	if says("patternProperties") {
		t.closed, t.additional = false, nil
	}
	if says("prefixItems") {
		t.items = nil
	}
}

// keyword compiles one member of a schema. It reports whether the check covers the keyword. A name
// that JSON Schema does not define is an annotation.
func (c *compiler) keyword(t *check, name string, raw []byte) bool {
	if b := t.bound(name); b != nil {
		return b.set(raw) && (name != "multipleOf" || exact(raw).Sign() > 0)
	}
	if n := t.count(name); n != nil {
		count, ok := plainInt(raw)
		*n = int(min(max(count, 0), 1<<31-1))
		return ok && count >= 0
	}
	switch name {
	case "type":
		return t.setTypes(raw)
	case "enum":
		list, ok := elements(raw)
		return ok && t.setEnum(list)
	case "const":
		return t.setEnum([][]byte{raw})
	case "format":
		t.format = unquote(raw)
	case "pattern":
		return c.pattern(t, raw)
	case "properties":
		return c.properties(t, raw)
	case "required":
		return t.setRequired(raw)
	case "additionalProperties":
		if t.closed = string(raw) == "false"; !t.closed {
			t.additional = c.schema(raw)
		}
	case "items":
		t.items = c.schema(raw)
	case "anyOf":
		if raw = orNull(raw); raw == nil {
			return false
		}
		t.to, t.orNull = c.schema(raw), true
	case "$ref":
		return c.reference(t, raw)
	case "$id":
		c.foreign = c.foreign || c.depth > 1
		return c.depth == 1
	case "$schema":
		return c.depth == 1
	case "examples":
		if list, ok := elements(raw); ok && len(list) > 0 && kindAt(list[0], 0) == kindString {
			t.example = unquote(list[0])
		}
	case "$defs", "definitions", "title", "description", "default", "contentEncoding", "x-mcp-header":
	default:
		return !slices.Contains(libraryKeywords, name)
	}
	return true
}

// libraryKeywords are keywords that only the library checks.
var libraryKeywords = strings.Fields(`allOf oneOf not if then else uniqueItems contains minContains maxContains
	prefixItems additionalItems patternProperties propertyNames dependencies
	dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties id $anchor $dynamicAnchor $dynamicRef
	$recursiveRef $recursiveAnchor $vocabulary`)

// pattern compiles a pattern. If there are too many it leaves them to the library, which refuses
// them.
func (c *compiler) pattern(t *check, raw []byte) bool {
	if kindAt(raw, 0) != kindString || c.patterns > maxPatternsSize {
		return false
	}
	if p, err := compilePattern(unquote(raw)); err == nil { // patterns that RE2 cannot express are not checked
		t.pattern = p
		c.patterns += p.size
	}
	return c.patterns <= maxPatternsSize
}

func (c *compiler) properties(t *check, raw []byte) bool {
	list, ok := members(raw)
	for _, m := range list {
		p := t.place(m.name)
		p.check, p.declared, p.fallback = c.schema(m.value), true, memberOf(m.value, "default")
		if p.fallback != nil {
			t.defaults++
		}
	}
	return ok
}

// orNull returns the schema in an anyOf of a schema and null, or nil.
func orNull(anyOf []byte) []byte {
	if list, _ := elements(anyOf); len(list) == 2 && string(list[1]) == `{"type":"null"}` {
		return list[0]
	}
	return nil
}

// reference compiles a $ref to the root or to one of its definitions.
func (c *compiler) reference(t *check, raw []byte) bool {
	ref := unquote(raw)
	target, known := c.refs[ref]
	if !known {
		text, defined := c.definitions[ref]
		if !defined {
			return false
		}
		target = newCheck()
		c.refs[ref] = target
		c.fill(target, text)
	}
	t.to = target
	return true
}
