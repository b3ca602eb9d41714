package schema

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits on what anybody's schema and value may cost.
const (
	maxSchemaBytes = 1 << 20 // text of one schema
	maxSchemaDepth = 64      // nesting of a schema's text, and length of a chain of $ref
	maxValueDepth  = 128     // nesting of a value that is validated
)

// Validator checks JSON texts against one schema. It is immutable and safe
// for concurrent use.
type Validator struct {
	root     *check   // for the one-pass validator
	general  *general // set for schemas with keywords beyond it
	defaults *defaults
}

// Compile prepares a JSON Schema for validation. Without "$schema" it is read
// as 2020-12, the default of the specification; the drafts 4, 6 and 7 are
// understood too, and 2019-09 except for unevaluatedItems,
// unevaluatedProperties and $recursiveRef. Others are refused.
//
// Nothing is ever fetched: a $ref that leads out of the schema, or nowhere,
// is an error. A schema is at most 1 MiB of text, and 64 levels deep. A
// pattern that Go's regular expressions (RE2) cannot express, such as one
// with a lookahead, or that compiles to more than 2000 instructions is not
// checked. Formats are annotations, as 2020-12 has
// it, and not checked either.
func Compile(schema json.RawMessage) (*Validator, error) {
	if len(schema) > maxSchemaBytes {
		return nil, fmt.Errorf("schema of %d bytes is larger than the limit of %d", len(schema), maxSchemaBytes)
	}
	text := jsontext.Value(schema).Clone()
	if err := text.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	if textDepth(text) > maxSchemaDepth {
		return nil, fmt.Errorf("schema is nested deeper than the limit of %d levels", maxSchemaDepth)
	}
	draft, err := draftOf(text)
	if err != nil {
		return nil, err
	}
	root, beyond, err := compile(text, draft)
	if err != nil {
		return nil, err
	}
	v := &Validator{root: root, defaults: findDefaults(text)}
	if beyond {
		v.general, err = compileGeneral(text, root)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Validate checks raw, which must be well-formed JSON. It returns nil or an
// [*Error]; the success path of the fast subset does not allocate.
func (v *Validator) Validate(raw []byte) error {
	if v.general != nil {
		return v.general.validate(raw)
	}
	w := walker{raw: raw, work: workFor(raw)}
	if _, ok := w.value(v.root, 0, 1); ok {
		return nil
	}
	if w.limit != nil {
		return w.limit
	}
	return v.explain(raw)
}

// explain walks again, slowly, to tell what is wrong.
func (v *Validator) explain(raw []byte) error {
	r := &report{}
	w := walker{raw: raw, work: workFor(raw), report: r}
	w.value(v.root, 0, 1)
	if len(r.violations) == 0 {
		r.add(v.root.describe(), excerpt(raw))
	}
	return &Error{Violations: r.violations}
}

// workFor bounds the steps of one validation. Alternatives read the same text
// again, and nested ones multiply: no schema may make that endless.
func workFor(raw []byte) int { return 1<<20 + len(raw) }

// generalWorkFor is workFor for the general validator, whose steps are longer.
func generalWorkFor(raw []byte) int { return 1<<14 + 2*len(raw) }

func tooDeep() *Error {
	return &Error{Violations: []Violation{{
		Expected: "at most " + strconv.Itoa(maxValueDepth) + " levels of nesting", Got: "more"}}}
}

func tooMuchWork() *Error {
	return &Error{Violations: []Violation{{
		Expected: "a value that takes less work to check against its schema", Got: "more"}}}
}

// textDepth is how deep the objects and arrays of a text are nested.
func textDepth(raw []byte) (deepest int) {
	depth := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i, _ = skipString(raw, i)
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
		i++
	}
	return deepest
}
