package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// general validates with a library that knows the keywords [walker] does not.
// It is given only what cannot make it run for long or overflow the stack:
// [measureChains] has seen the schema, and a price each value.
type general struct {
	root     *check // of all the schema, for prices and messages
	resolved *jsonschema.Resolved
}

func compileGeneral(text []byte, root *check) (g *general, err error) {
	defer recoverLibrary(&err)
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("schema cannot be used: %s", clip(err.Error()))
	}
	prepare(s)
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{BaseURI: documentURI}) // without a loader nothing is fetched
	if err != nil {
		return nil, fmt.Errorf("schema cannot be used: %s", clip(strings.ReplaceAll(err.Error(), documentURI, "")))
	}
	return &general{root, resolved}, nil
}

// recoverLibrary turns an assertion of the library that fails into an error.
func recoverLibrary(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("schema cannot be used: %s", clip(fmt.Sprint(r)))
	}
}

// prepare takes from a schema and all within what the library refuses, and
// what is not checked.
func prepare(s *jsonschema.Schema) {
	s.Schema, s.Vocabulary = "", nil // the dialect is known by now
	if s.Pattern != "" {
		s.Pattern = translatePattern(s.Pattern)
	}
	for text, sub := range s.PatternProperties {
		if p, err := compilePattern(text); err != nil {
			delete(s.PatternProperties, text)
			s.PatternProperties["(?:)"] = &jsonschema.Schema{} // any name may be one of these
		} else if translated := p.regexp.String(); translated != text {
			delete(s.PatternProperties, text)
			s.PatternProperties[translated] = sub
		}
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			if field != nil {
				prepare(field)
			}
		case []*jsonschema.Schema:
			for _, sub := range field {
				prepare(sub)
			}
		case map[string]*jsonschema.Schema:
			for _, sub := range field {
				prepare(sub)
			}
		}
	}
}

// translatePattern writes a pattern for RE2, empty if that is not possible.
func translatePattern(text string) string {
	p, err := compilePattern(text)
	if err != nil {
		return ""
	}
	return p.regexp.String()
}

func (g *general) validate(raw []byte) (err error) {
	v, err := decodeAny(raw)
	if err != nil {
		return err
	}
	p := price{raw: raw, left: generalWorkFor(raw)}
	if p.add(g.root, 0, 1); p.left < 0 {
		return tooMuchWork()
	}
	defer recoverLibrary(&err)
	if err := g.resolved.Validate(plainNumbers(v)); err != nil {
		return g.explain(raw, err)
	}
	return nil
}

// plainNumbers replaces numbers that keep their text, which the library takes
// for strings.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return v
}

// explain words a refusal. The library says where in the schema, but not where
// in the value; what our own walk finds too it tells better.
func (g *general) explain(raw []byte, err error) error {
	r := &report{}
	w := walker{raw: raw, work: workFor(raw), report: r}
	w.value(g.root, 0, 1)
	if len(r.violations) == 0 {
		r.add("a value that fits "+schemaPath(err)+" of the schema", excerpt(raw))
	}
	return &Error{Violations: r.violations}
}

// schemaPath finds the innermost keyword that the library was at: the last
// that is not within a schema that says false, which it reports as a not.
func schemaPath(err error) string {
	path := ""
	for ; err != nil; err = errors.Unwrap(err) {
		if rest, ok := strings.CutPrefix(err.Error(), "validating "); ok {
			path, _, _ = strings.Cut(rest, ":")
		}
	}
	if path = strings.TrimPrefix(path, "/"); path == "" || path == "root" {
		return "all"
	}
	return clip(path)
}

// price tells what a validation by the library may cost, which has no limits
// of its own: it goes wherever the library may go, and then some.
type price struct {
	raw  []byte
	left int // below zero the value is too expensive
}

// add charges for the value at p.raw[i:] and returns the index behind it.
// level is how many schemas are around: each copies the messages within.
func (p *price) add(c *check, i, level int) int {
	i = skipSpace(p.raw, i)
	end := skipValue(p.raw, i)
	if c == nil || p.left < 0 {
		return end
	}
	p.left -= 1 + (end-i)>>6 + level>>4 + c.enumWork
	switch kindAt(p.raw, i) {
	case kindString:
		if c.pattern != nil {
			p.left -= c.pattern.workFor(end - i)
		}
	case kindArray:
		p.array(c, i, level)
	case kindObject:
		p.object(c, i, level)
	}
	for _, sub := range c.sameValue() {
		p.add(sub, i, level+1)
	}
	return end
}

func (p *price) array(c *check, start, level int) {
	for i, n := start+1, 0; p.left >= 0; n++ {
		i = skipSpace(p.raw, i)
		if kindAt(p.raw, i) == 0 {
			return
		}
		p.add(c.element(n), i, level+1)
		p.add(c.contains, i, level+1)
		if i = skipSpace(p.raw, p.add(c.otherItems, i, level+1)); byteAt(p.raw, i) == ',' {
			i++
		}
	}
}

func (p *price) object(c *check, start, level int) {
	for i := start + 1; p.left >= 0; {
		i = skipSpace(p.raw, i)
		if byteAt(p.raw, i) != '"' {
			return
		}
		end, escaped := skipString(p.raw, i)
		name := unquote(p.raw[i:end], escaped)
		p.add(c.names, i, level+1)
		i = skipSpace(p.raw, end) + 1
		if at := c.member(name, 0); at >= 0 {
			p.add(c.members[at].check, i, level+1)
		}
		for _, m := range c.patterns {
			p.left--
			if m.pattern != nil {
				p.left -= m.pattern.workFor(len(name))
			}
			p.add(m.check, i, level+1)
		}
		p.add(c.additional, i, level+1)
		if i = skipSpace(p.raw, p.add(c.otherMembers, i, level+1)); byteAt(p.raw, i) == ',' {
			i++
		}
	}
}
