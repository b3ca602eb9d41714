package schema

import (
	"slices"
	"strings"
)

// compiler compiles the text of a schema to checks. It knows the keywords that [For] writes. It
// sets beyond for all other keywords and for unsupported values.
type compiler struct {
	draft       draft
	definitions map[string][]byte // by their references, such as #/$defs/name
	refs        map[string]*check // compiled schemas by their references; an entry is added before its content is compiled, so that schemas can be recursive
	depth       int               // number of schemas around the current one
	patterns    int               // size of all patterns in instructions
	beyond      bool              // the checks do not cover the whole schema
	foreign     bool              // the compiler may have misinterpreted a reference
}

// compile compiles a schema. If beyond is true, root accepts every value that the schema allows,
// but also accepts some values that it forbids.
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
		c.foreign = c.foreign || t.target() == nil // a cycle, which the library's graph rejects
	}
	if c.foreign {
		return nil, true
	}
	return root, c.beyond
}

// schema compiles a schema. It returns nil for a schema that allows any value.
func (c *compiler) schema(raw []byte) *check {
	if string(raw) == "true" || string(raw) == "{}" {
		return nil
	}
	t := newCheck()
	c.fill(t, raw)
	return t
}

// nextToRef lists the keywords that the single pass supports next to a $ref.
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

// keyword compiles one keyword of a schema, and reports whether the check covers it. A keyword that
// JSON Schema does not define is an annotation.
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

// libraryKeywords lists the keywords that only the library checks.
var libraryKeywords = strings.Fields(`allOf oneOf not if then else uniqueItems contains minContains maxContains
	prefixItems additionalItems patternProperties propertyNames dependencies
	dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties id $anchor $dynamicAnchor $dynamicRef
	$recursiveRef $recursiveAnchor $vocabulary`)

// pattern compiles a pattern. If the size of all patterns is too large, it leaves the pattern to
// the library, which rejects the schema.
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

// orNull returns the schema in an anyOf of a schema and null. It returns nil for any other anyOf.
func orNull(anyOf []byte) []byte {
	if list, _ := elements(anyOf); len(list) == 2 && string(list[1]) == `{"type":"null"}` {
		return list[0]
	}
	return nil
}

// reference compiles a $ref to the root or to one of the definitions of the schema.
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
