package schema

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// documentURI is the URI of a schema that has no $id. It is never fetched, but relative references
// need a base.
const documentURI = "https://junction.invalid/schema"

// maxSchemaPath is the maximum length, in bytes, of an $id and of the path from a schema to one
// inside it. The library stores the path of each schema and repeats it in messages.
const maxSchemaPath = 2048

var errElsewhere = errors.New("junction never fetches schemas: copy it into $defs")

// graph contains the references between the schemas of a document. The library has such a graph
// too, but does not export it.
type graph struct {
	draft   draft
	nodes   []*node
	named   map[string]*node   // schemas by their URIs, and anchors by URI#name
	dynamic map[string][]*node // schemas by their $dynamicAnchor

	patterns int // size of all patterns in instructions
}

// node is a schema in a graph.
type node struct {
	schema     *jsonschema.Schema
	base       *url.URL         // base URI of its references
	within     map[string]*node // schemas inside it, by JSON Pointer
	sameValue  []*node          // schemas that apply to the same value
	parts      []*node          // schemas that apply to elements and members of the value
	properties map[string]*node // schemas that apply to one member each
	names      int              // size of patternProperties in instructions
	pattern    int              // size of pattern in instructions
	cost       int              // cost of one validation, without the schemas inside
	chain      int              // see measure; -1 while measure runs
}

// newGraph prepares root for the library. It rejects schemas that would overflow the library's
// stack.
func newGraph(root *jsonschema.Schema, d draft) (*graph, error) {
	g := &graph{draft: d, named: map[string]*node{}, dynamic: map[string][]*node{}}
	base, err := url.Parse(documentURI)
	if err != nil {
		return nil, err
	}
	if _, err = g.add(root, base, ""); err != nil {
		return nil, err
	}
	g.named[documentURI] = g.nodes[0]
	for _, n := range g.nodes {
		for _, ref := range []string{n.schema.Ref, n.schema.DynamicRef} {
			target, err := g.resolve(n.base, ref)
			if err != nil {
				return nil, err
			}
			if target != nil {
				n.sameValue = append(n.sameValue, target)
			}
		}
		if uri, err := url.Parse(n.schema.DynamicRef); err == nil && uri.Fragment != "" {
			n.sameValue = append(n.sameValue, g.dynamic[uri.Fragment]...)
		}
	}
	for _, n := range g.nodes {
		if err := n.measure(0); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add adds s and the schemas inside it to the graph. path leads from the root to s.
func (g *graph) add(s *jsonschema.Schema, base *url.URL, path string) (*node, error) {
	if len(path) > maxSchemaPath || len(s.ID) > maxSchemaPath {
		return nil, fmt.Errorf("schema has a path or $id longer than the limit of %d bytes", maxSchemaPath)
	}
	if err := g.draft.adapt(s); err != nil {
		return nil, err
	}
	n := &node{schema: s, base: base, within: map[string]*node{}, properties: map[string]*node{}, cost: costOf(s)}
	g.nodes = append(g.nodes, n)
	if err := g.name(n); err != nil {
		return nil, err
	}
	n.adaptPatterns()
	if g.patterns += n.pattern + n.names; g.patterns > maxPatternsSize {
		return nil, fmt.Errorf("schema has patterns of more than %d instructions", maxPatternsSize)
	}
	return n, eachSchema(s, func(keyword, pointer string, sub *jsonschema.Schema) error {
		child, err := g.add(sub, n.base, path+"/"+pointer)
		n.within[pointer] = child
		switch keyword {
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
			n.sameValue = append(n.sameValue, child)
		case "properties":
			n.properties[pointer[len("properties/"):]] = child
		case "$defs", "definitions", "contentSchema":
		default:
			n.parts = append(n.parts, child)
		}
		return err
	})
}

// adaptPatterns converts the patterns to RE2. Patterns that RE2 cannot express are not checked. If
// such a pattern is in patternProperties, any name is assumed to match it.
func (n *node) adaptPatterns() {
	s := n.schema
	text := s.Pattern
	if s.Pattern = ""; text != "" {
		if p, err := compilePattern(text); err == nil {
			s.Pattern, n.pattern = p.regexp.String(), p.size
		}
	}
	patterns := make(map[string]*jsonschema.Schema, len(s.PatternProperties))
	for text, sub := range s.PatternProperties {
		if p, err := compilePattern(text); err == nil {
			patterns[p.regexp.String()] = sub
			n.names += p.size
		} else {
			patterns["(?:)(?:)"] = &jsonschema.Schema{}
		}
	}
	s.PatternProperties = patterns
}

// eachSchema calls f for each schema that is directly inside s. keyword is the keyword that
// contains the schema, and pointer is the path to it, as a JSON Pointer without escapes.
func eachSchema(s *jsonschema.Schema, f func(keyword, pointer string, sub *jsonschema.Schema) error) (err error) {
	v := reflect.ValueOf(s).Elem()
	for i, keyword := range keywords {
		call := func(pointer string, sub *jsonschema.Schema) {
			if err == nil && sub != nil {
				err = f(keyword, pointer, sub)
			}
		}
		switch value := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			call(keyword, value)
		case []*jsonschema.Schema:
			for i, sub := range value {
				call(keyword+"/"+strconv.Itoa(i), sub)
			}
		case map[string]*jsonschema.Schema:
			for name, sub := range value {
				call(keyword+"/"+name, sub)
			}
		}
	}
	return err
}

// keywords contains the keyword of each field of the library's Schema, in the order of the fields.
// Fields that the library decodes with its own code have no keyword in their tags.
var keywords = func() (list []string) {
	unnamed := map[string]string{"Type": "type", "Items": "items", "ItemsArray": "items", "DependencySchemas": "dependencies"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		keyword, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		list = append(list, cmp.Or(unnamed[field.Name], keyword))
	}
	return list
}()

// costOf returns the cost, for the library, of the keywords of one schema.
func costOf(s *jsonschema.Schema) int {
	names := len(s.Properties) + len(s.Required) + len(s.DependencySchemas) + len(s.DependentSchemas)
	for _, lists := range []map[string][]string{s.DependentRequired, s.DependencyStrings} {
		for _, list := range lists {
			names += 1 + len(list)
		}
	}
	n := 1 + names>>3 + len(s.Enum) + size(s.Enum)>>6
	if s.Const != nil {
		n += size(*s.Const) >> 6
	}
	return n
}

// name registers the names of a schema and determines the base of its references.
func (g *graph) name(n *node) error {
	id, anchors := n.schema.ID, []string{n.schema.Anchor, n.schema.DynamicAnchor}
	switch anchor, isAnchor := strings.CutPrefix(id, "#"); {
	case id == "", g.draft == draft7 && n.schema.Ref != "": // in draft 7, keywords next to $ref are ignored
	case isAnchor && g.draft == draft7:
		anchors = append(anchors, anchor)
	default:
		uri, err := n.base.Parse(id)
		if err != nil || uri.Fragment != "" {
			return fmt.Errorf("schema has an $id that is not a valid URI or has a fragment: %q", clip(id))
		}
		n.base = uri
		if err := g.enter(uri.String(), n); err != nil {
			return err
		}
	}
	g.dynamic[n.schema.DynamicAnchor] = append(g.dynamic[n.schema.DynamicAnchor], n)
	for _, anchor := range anchors {
		if anchor == "" {
			continue
		}
		if err := g.enter(n.base.String()+"#"+anchor, n); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) enter(name string, n *node) error {
	if other, taken := g.named[name]; taken && other != n {
		return fmt.Errorf("schema has two parts called %q: rename one", clip(strings.TrimPrefix(name, documentURI)))
	}
	g.named[name] = n
	return nil
}

// resolve returns the schema to which a reference leads, or nil if ref is empty.
func (g *graph) resolve(base *url.URL, ref string) (*node, error) {
	if ref == "" {
		return nil, nil
	}
	uri, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("schema has a reference that is no URI: %q", clip(ref))
	}
	fragment := uri.Fragment
	uri.Fragment = ""
	n, ok := g.named[uri.String()]
	if !ok {
		return nil, fmt.Errorf("schema has a $ref to %q: %w", clip(ref), errElsewhere)
	}
	if pointer, ok := strings.CutPrefix(fragment, "/"); ok {
		n = n.follow(strings.Split(pointer, "/"))
	} else if fragment != "" {
		n = g.named[uri.String()+"#"+fragment]
	}
	if n == nil {
		return nil, fmt.Errorf("schema has a $ref to %q, which it does not define: add it, under $defs for instance", clip(ref))
	}
	return n, nil
}

// follow returns the schema to which the tokens of a JSON Pointer lead, or nil.
func (n *node) follow(tokens []string) *node {
	for len(tokens) > 0 && n != nil {
		next, used := n.within[tokens[0]], 1
		if next == nil && len(tokens) > 1 {
			next, used = n.within[tokens[0]+"/"+unescapeToken(tokens[1])], 2
		}
		n, tokens = next, tokens[used:]
	}
	return n
}

// unescapeToken decodes a token of a JSON Pointer.
func unescapeToken(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// measure determines the length of the longest chain of schemas that apply to the same value. It
// rejects cycles, in which a validation would never end.
func (n *node) measure(depth int) error {
	switch {
	case n.chain < 0:
		return errors.New("schema has a $ref that leads back to itself without consuming a value")
	case depth+max(n.chain, 1) > maxSchemaDepth:
		return fmt.Errorf("schema has a chain of more than %d $ref or combinations for one value", maxSchemaDepth)
	case n.chain > 0:
		return nil
	}
	n.chain = -1
	longest := 0
	for _, next := range n.sameValue {
		if err := next.measure(depth + 1); err != nil {
			return err
		}
		longest = max(longest, next.chain)
	}
	n.chain = longest + 1
	return nil
}
