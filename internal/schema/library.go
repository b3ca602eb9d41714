package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Limits of schemas for the library. The library reads each part of the text once for every schema
// around it, and needs about 100 µs for each schema.
const (
	maxLibraryBytes   = 256 << 10
	maxLibrarySchemas = 1 << 12 // objects and booleans in the text of a schema
	maxLibraryWork    = 1 << 21 // work of one validation, in steps of about 2 µs
)

// library validates with google/jsonschema-go. It accepts only schemas and values that cannot make
// the library run for long or overflow its stack: [graph] checks the schema and computes the cost
// of each value.
type library struct {
	resolved *jsonschema.Resolved
	root     *node
}

func compileForLibrary(text []byte, d draft) (l *library, err error) {
	if _, count := measure(text); len(text) > maxLibraryBytes || count > maxLibrarySchemas {
		return nil, fmt.Errorf("schema of %d bytes with %d schemas within is larger than the limit of %d and %d for one with such keywords",
			len(text), count, maxLibraryBytes, maxLibrarySchemas)
	}
	defer recoverLibrary(&err)
	root := &jsonschema.Schema{}
	if err := json.Unmarshal(text, root); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			keyword := strings.TrimPrefix(strings.ReplaceAll("."+wrong.Field, ".schemaWithoutMethods", ""), ".")
			return nil, invalid(keyword, "a value of the type "+wrong.Value+" cannot stand here")
		}
		return nil, unusable(err.Error())
	}
	g, err := newGraph(root, d)
	if err != nil {
		return nil, err
	}
	if d == draft7 {
		root.Schema = "http://json-schema.org/draft-07/schema#"
	}
	resolved, err := root.Resolve(&jsonschema.ResolveOptions{BaseURI: documentURI}) // without a loader the library fetches nothing
	if err != nil {
		return nil, unusable(strings.ReplaceAll(err.Error(), documentURI, ""))
	}
	return &library{resolved, g.nodes[0]}, nil
}

func invalid(keyword, why string) error {
	return fmt.Errorf("schema is not a valid JSON Schema: %s: %s", keyword, why)
}

func unusable(why string) error {
	return fmt.Errorf("schema cannot be used: %s", plaintext.Short(why, maxDescription))
}

// recoverLibrary converts a failed assertion of the library, a panic, to an error.
func recoverLibrary(err *error) {
	if r := recover(); r != nil {
		*err = unusable(fmt.Sprint(r))
	}
}

// validate validates raw. found contains the violations that the single pass found, which are used
// only for the message.
func (l *library) validate(raw []byte, found []Violation) (err error) {
	if depth, _ := measure(raw); depth > maxValueDepth {
		return tooDeep()
	}
	var value any
	if err := DecodeLoose(raw, &value); err != nil {
		return err
	}
	// The library has no limits of its own, so the cost is checked first.
	if left := l.root.charge(min(1<<16+2*len(raw), maxLibraryWork), value, 1); left < 0 {
		return tooMuchWork()
	}
	defer recoverLibrary(&err)
	if err := l.resolved.Validate(value); err != nil {
		// The library stops at the first violation, and its error contains the path in the schema,
		// but not the path in the value. The violations of the single pass are better.
		if found == nil {
			found = []Violation{refused(err, bytes.TrimSpace(raw))}
		}
		return &Error{Violations: found}
	}
	return nil
}

// refused converts an error of the library to a violation. It uses the innermost keyword.
func refused(err error, raw []byte) Violation {
	var at, keyword string
	for ; err != nil; err = errors.Unwrap(err) {
		if rest, ok := strings.CutPrefix(err.Error(), "validating "); ok {
			at, keyword, _ = strings.Cut(rest, ": ")
		}
	}
	if at = strings.TrimPrefix(at, "/"); at == "root" {
		at = ""
	}
	keyword, _, _ = strings.Cut(keyword, ":")
	if keyword != "not" && !strings.Contains(keyword, " ") || at == "" {
		at = strings.TrimPrefix(at+"/"+keyword, "/") // the library reports a failure of the schema false as one of the keyword "not"
	}
	var path string
	tokens := strings.Split(at, "/")
	for ; len(tokens) > 2 && tokens[0] == "properties"; tokens = tokens[2:] {
		name := unescapeToken(tokens[1])
		path, raw = joinPath(path, nameStep(name)), memberOf(raw, name)
	}
	return Violation{path, "a value that fits " + clip(strings.Join(tokens, "/")) + " of its schema", excerpt(raw)}
}

// charge subtracts the maximum cost of checking v from left and returns the difference. It visits
// at least the schemas that the library visits. level is the number of schemas around n, each of
// which copies the messages of the inner ones.
func (n *node) charge(left int, v any, level int) int {
	length := size(v)
	left -= n.cost + length>>4 + level>>4 + length*n.pattern>>8
	if n.schema.UniqueItems {
		left -= length >> 2
	}
	each := func(nodes []*node, v any) {
		for _, sub := range nodes {
			if left >= 0 {
				left = sub.charge(left, v, level+1)
			}
		}
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			each(n.parts, e)
		}
	case map[string]any:
		for name, e := range v {
			left -= len(name) * n.names >> 8
			each(n.parts, e)
			if property := n.properties[name]; property != nil {
				each([]*node{property}, e)
			}
		}
	}
	each(n.sameValue, v)
	return left
}

// size returns the approximate length of a value as text.
func size(v any) int {
	n := 8
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case map[string]any:
		for name, e := range v {
			n += len(name) + size(e)
		}
	}
	return n
}

// adapt adapts a schema to the library. The library supports draft 7 and 2020-12, but applies
// keywords of one draft in schemas of the other.
func (d draft) adapt(s *jsonschema.Schema) error {
	if s.Schema != "" {
		if other, err := draftOf(appendQuoted(nil, s.Schema)); err != nil || other != d {
			return fmt.Errorf("schema has a part in another dialect, %q: use one for the whole", clip(s.Schema))
		}
	}
	s.Schema, s.Vocabulary = "", nil // the draft is known already
	if d == draft7 {
		s.PrefixItems, s.UnevaluatedItems, s.UnevaluatedProperties, s.MinContains, s.MaxContains = nil, nil, nil, nil, nil
		s.DependentRequired, s.DependentSchemas, s.Anchor, s.DynamicAnchor, s.DynamicRef = nil, nil, "", "", ""
		return checkKeywords(s)
	}
	if d == draft2019 {
		s.DynamicAnchor, s.DynamicRef = "", ""
		s.PrefixItems, s.ItemsArray = s.ItemsArray, nil
		if s.PrefixItems != nil {
			s.Items = s.AdditionalItems
		}
		s.AdditionalItems = nil
		if s.Extra["$recursiveRef"] != nil || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil {
			return fmt.Errorf("schema dialect 2019-09 is supported without $recursiveRef, unevaluatedItems and unevaluatedProperties: use %s", defaultDialect)
		}
	}
	if s.ItemsArray != nil {
		return invalid("items", "expected object or boolean, got an array")
	}
	return checkKeywords(s)
}

// checkKeywords rejects keywords that the library accepts and then ignores or applies to every
// value.
func checkKeywords(s *jsonschema.Schema) error {
	for name := range s.Extra {
		// encoding/json ignores case, so the library would treat the name as the keyword.
		if i := slices.IndexFunc(keywords, func(keyword string) bool { return strings.EqualFold(name, keyword) }); i >= 0 {
			return invalid(name, "the keyword is spelled "+keywords[i])
		}
	}
	for _, name := range append(s.Types, s.Type) {
		if name != "" && !slices.ContainsFunc(typeNames[:], func(t typeName) bool { return t.name == name }) {
			return invalid("type", fmt.Sprintf("expected one of string, integer, number, boolean, object, array, null, got %q", clip(name)))
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		if list != nil && len(list) == 0 {
			return invalid("allOf, anyOf or oneOf", "expected an array of at least 1 item")
		}
	}
	for _, n := range []*int{s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.MinProperties, s.MaxProperties} {
		if n != nil && *n < 0 {
			return invalid("a length or count", fmt.Sprintf("expected a number of at least 0, got %d", *n))
		}
	}
	if s.MultipleOf != nil && *s.MultipleOf <= 0 {
		return invalid("multipleOf", fmt.Sprintf("expected a number greater than 0, got %v", *s.MultipleOf))
	}
	return nil
}
