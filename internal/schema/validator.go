package schema

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits that apply to every schema and value.
const (
	maxSchemaBytes = 1 << 20 // size of a schema's text
	maxSchemaDepth = 64      // depth of a schema's text, and length of a chain of $ref
	maxSubschemas  = 1 << 14 // objects and booleans in a schema's text
	maxValueDepth  = 128     // depth of a value
)

// Validator checks JSON texts against one schema. It is immutable and safe for concurrent use.
type Validator struct {
	root    *check
	library *library // set for schemas that the single pass cannot check alone
}

// Compile prepares a JSON Schema for validation. A schema without "$schema" is interpreted as
// 2020-12, the default of the specification. The package's documentation describes the support for
// other drafts.
//
// Compile never fetches a schema: it returns an error if a $ref leads out of the schema or to a
// part that does not exist. A schema's text may be at most 1 MiB, nested at most 64 levels deep,
// and contain at most 16384 schemas. If it contains keywords that [For] does not write, the limits
// are 256 KiB and 4096 schemas. A pattern is not checked if Go's regular expressions (RE2) cannot
// express it, such as one with a lookahead, or if it compiles to more than 2000 instructions.
// Formats are not checked either, as they are annotations in 2020-12.
func Compile(schema json.RawMessage) (*Validator, error) {
	if len(schema) > maxSchemaBytes {
		return nil, fmt.Errorf("schema of %d bytes is larger than the limit of %d", len(schema), maxSchemaBytes)
	}
	text := jsontext.Value(schema).Clone()
	if err := text.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	depth, count := measure(text)
	switch {
	case depth > maxSchemaDepth:
		return nil, fmt.Errorf("schema is nested deeper than the limit of %d levels", maxSchemaDepth)
	case count > maxSubschemas:
		return nil, fmt.Errorf("schema has more than the limit of %d schemas within", maxSubschemas)
	}
	draft, err := draftOf(memberOf(text, "$schema"))
	if err != nil {
		return nil, err
	}
	root, beyond := compile(text, draft)
	v := &Validator{root: root}
	if beyond {
		v.library, err = compileForLibrary(text, draft)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Validate checks raw, which must be well-formed JSON. It returns nil or an [*Error]. It does not
// allocate if the schema comes from [For] and the value is valid.
func (v *Validator) Validate(raw []byte) error {
	_, err := v.check(raw, false)
	return err
}

// Complete checks raw as [Validator.Validate] does, and returns it with the schema's defaults
// inserted for absent members, also in nested objects that are present. If nothing must be added,
// it returns raw itself. A null is treated as an absent member if the member may be absent and may
// not be null. Defaults inside alternatives (anyOf, allOf, if, ...) are not inserted, as it is
// known only after the check which alternative applies.
func (v *Validator) Complete(raw []byte) ([]byte, error) { return v.check(raw, true) }

func (v *Validator) check(raw []byte, filling bool) ([]byte, error) {
	w := walker{raw: raw, work: workFor(raw), filling: filling}
	w.value(v.root, 0, 1)
	if w.filled != nil {
		raw = append(w.filled, raw[w.copied:]...)
	}
	switch {
	case v.library != nil:
		return raw, v.library.validate(raw, w.found)
	case w.found != nil:
		return raw, &Error{Violations: w.found}
	}
	return raw, w.limit
}

// workFor returns the maximum number of steps of one validation. A limit is necessary because each
// alternative reads the same text again, and nested alternatives multiply.
func workFor(raw []byte) int { return 1<<20 + len(raw) }

func tooDeep() *Error {
	return &Error{Violations: []Violation{{
		Expected: "at most " + strconv.Itoa(maxValueDepth) + " levels of nesting", Got: "more"}}}
}

func tooMuchWork() *Error {
	return &Error{Violations: []Violation{{
		Expected: "a value that takes less work to check against its schema", Got: "more"}}}
}
