package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// InvalidSchema is the name of the rule about schemas that are not valid JSON Schema.
const InvalidSchema = "invalid-schema"

var invalidSchemaRule = Rule{
	Name: InvalidSchema, Severity: Error,
	Doc:   `An input or output schema is not valid JSON Schema, or has a reference without a target.`,
	Bad:   `{"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object", "properties": {"a": {"type": "float"}, "b": {"type": "float"}}}}`,
	Good:  `{"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}`,
	check: of((*report).checkValidity),
}

// RefusedSchema is the name of the rule about input schemas that a provider of models refuses.
const RefusedSchema = "refused-schema"

var refusedSchemaRule = Rule{
	Name: RefusedSchema, Severity: Warning,
	Doc: `OpenAI or Anthropic refuse a request with such a schema, unless the host rewrites it. Then the whole conversation
fails. The causes are alternatives at the root, arrays without items, forms of old drafts, and names of properties with
other characters than ` + "`" + `[A-Za-z0-9_.-]` + "`" + `. Error if the schema is larger than 256 KiB or nested deeper than 48, because no
model accepts that.`,
	Bad:   `{"name": "tag", "description": "Sets tags.", "inputSchema": {"type": "object", "properties": {"tags": {"type": "array"}}}}`,
	Good:  `{"name": "tag", "description": "Sets tags.", "inputSchema": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}}`,
	check: of((*report).checkRefused),
}

// UnknownRequired is the name of the rule about properties that a schema requires but does not
// describe.
const UnknownRequired = "unknown-required"

var unknownRequiredRule = Rule{
	Name: UnknownRequired, Severity: Warning,
	Doc:   `A required property is not described, often because of a typing error. Error if the schema does not allow such a property.`,
	Bad:   `{"name": "find", "description": "Finds notes by a query.", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["q"]}}`,
	Good:  `{"name": "find", "description": "Finds notes by a query.", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}`,
	check: of((*report).checkRequired),
}

// UnfitValue is the name of the rule about defaults, examples and choices that do not match their
// schema.
const UnfitValue = "unfit-value"

var unfitValueRule = Rule{
	Name: UnfitValue, Severity: Warning,
	Doc:   `A default, an example or a choice does not fit its own schema. Models send it, and the call fails.`,
	Bad:   `{"name": "find", "description": "Finds notes, with a limit.", "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "default": null}}}}`,
	Good:  `{"name": "find", "description": "Finds notes, with a limit.", "inputSchema": {"type": "object", "properties": {"limit": {"type": ["integer", "null"], "default": null}}}}`,
	check: of((*report).checkValues),
}

// refusing lists the dialects of providers that refuse a whole request if one schema in it is not
// supported.
var refusing = []string{"openai", "anthropic"}

// The members of a tool that contain schemas.
const inputField, outputField = "inputSchema", "outputSchema"

// readSchemas parses the schemas of a tool.
func (r *report) readSchemas(t *tool) {
	switch {
	case t.InputSchema == nil:
		r.add(Protocol, Error, inputField, "it is missing", `without arguments it is {"type": "object"}: the specification requires it (server/tools)`)
	case !isObject(t.InputSchema) || text(t.InputSchema, "type") != "object":
		r.add(Protocol, Error, inputField, `its type is not "object"`, `write "type": "object": the specification requires it (server/tools)`)
	default:
		t.compile(t.InputSchema, inputField)
	}
	if t.OutputSchema != nil {
		t.compile(t.OutputSchema, outputField)
	}
}

// compile records whether a schema is valid.
func (t *tool) compile(raw json.RawMessage, field string) {
	if _, err := schema.Compile(raw); err != nil {
		t.invalid = append(t.invalid, fault{field, err})
	} else {
		t.valid = append(t.valid, part{schema.Look(raw), field, true})
	}
}

// checkValidity reports invalid schemas.
func (r *report) checkValidity(t *tool) {
	for _, f := range t.invalid {
		r.add(InvalidSchema, Error, f.field, strings.TrimPrefix(f.err.Error(), "schema "), "correct it: hosts leave the tool out, or cannot check its arguments and results")
	}
}

// checkRefused reports the parts of an input schema that providers refuse.
func (r *report) checkRefused(t *tool) {
	if !t.fits(inputField) {
		return
	}
	plain, _ := model.DialectNamed("plain")
	if _, err := model.Changes(t.InputSchema, plain); err != nil {
		r.add(RefusedSchema, Error, "inputSchema", "no model accepts it: it "+err.Error(), "make it smaller and flatter, or split the tool")
		return
	}
	var changes []string
	who := map[string][]string{} // providers by the change that they need
	for _, name := range refusing {
		dialect, _ := model.DialectNamed(name)
		all, _ := model.Changes(t.InputSchema, dialect) // an error only concerns the rewritten schema
		for _, change := range all {
			if !isRefused(change) {
				continue
			}
			if len(who[change]) == 0 {
				changes = append(changes, change)
			}
			who[change] = append(who[change], name)
		}
	}
	for _, change := range changes {
		at, what, _ := strings.Cut(change, ": ")
		r.add(RefusedSchema, Warning, "inputSchema"+strings.ReplaceAll(strings.TrimSuffix(at, "/"), "/", "."), fmt.Sprintf("%s: %s would refuse every request with this schema", what, strings.Join(who[change], " and ")),
			"use type, properties, required and items, or the description")
	}
}

// taken lists keywords that Lower converts to text, because next to a rewritten part they would
// mean something else. Providers accept them.
var taken = []string{"oneOf", "if", "then", "else", "contains", "minContains", "maxContains", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"}

// isRefused reports whether a provider refuses the part of a schema that a change removes. The
// purpose of other changes is that models understand more, or that references remain valid.
func isRefused(change string) bool {
	at, what, _ := strings.Cut(change, ": ")
	switch what {
	case "an array without items", "items is a list", "exclusiveMinimum is not a number", "exclusiveMaximum is not a number":
		return true
	}
	return at == "/" && !slices.Contains(taken, what)
}

// maxCompiled is the largest number of bytes of schemas that are compiled to check values. Each is
// compiled together with the definitions of the schema that contains it.
const maxCompiled = 32 << 20

// A part is a schema inside one of a tool's schemas, or the whole schema.
type part struct {
	schema.View
	field string
	alone bool // whether no schema around it restricts the same value
}

// each calls see for a schema and all schemas inside it.
func (p part) each(see func(part)) {
	if !isObject(p.Raw()) {
		return
	}
	see(p)
	p.Within(func(keyword, name string, inner schema.View) {
		at, alone := p.field+"."+keyword, true
		switch keyword {
		case "not", "if", "then", "else", "contains", "propertyNames", "dependentSchemas": // these only restrict values that other schemas describe
			return
		case "$defs", "definitions", "anyOf", "oneOf", "allOf":
			alone = false
		}
		switch {
		case schema.PlaceOf(keyword) == schema.Named:
			at += "." + name
		case name != "":
			at += "[" + name + "]"
		}
		part{inner, at, alone}.each(see)
	})
}

// checkRequired reports properties that are required but not described.
func (r *report) checkRequired(t *tool) {
	for _, whole := range t.valid {
		whole.each(r.required)
	}
}

// checkValues reports values in schemas that do not match the schemas.
func (r *report) checkValues(t *tool) {
	for _, whole := range t.valid {
		var nulls []string // names of properties with the default null, which does not match
		whole.each(func(p part) { nulls = r.fit(p, nulls) })
		if len(nulls) > 0 { // one finding for all, because generators of schemas write many
			r.add(UnfitValue, Warning, whole.field, fmt.Sprintf("the default null does not fit the type of %s", strings.Join(nulls, ", ")),
				"models then send null, and hosts or servers that check calls refuse it: allow null, or leave the default out (in Python: str | None = None, not str = None)")
		}
	}
}

// required reports the properties that p requires but does not describe. It ignores p if other
// schemas may describe them.
func (r *report) required(p part) {
	if !p.alone {
		return
	}
	raw := p.Raw()
	for _, other := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"} {
		if jsonrpc.Get(raw, other) != nil {
			return
		}
	}
	var missing []string
	described := map[string]bool{}
	for property := range p.Properties() {
		described[property.Name] = true
	}
	jsonrpc.EachElement(jsonrpc.Get(raw, "required"), func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok && !described[name] {
			missing = append(missing, name)
		}
		return true
	})
	if len(missing) == 0 {
		return
	}
	severity, what := Warning, "requires %s, which is not described"
	if string(jsonrpc.Get(raw, "additionalProperties")) == "false" {
		severity, what = Error, "requires %s but does not allow that property, so no value fits"
	}
	r.add(UnknownRequired, severity, p.field+".required", fmt.Sprintf(what, strings.Join(missing, ", ")), "describe it under properties, or do not require it; check the spelling of its name")
}

// fit reports values in one schema that do not match it. Properties with a default null that does
// not match are appended to nulls instead.
func (r *report) fit(p part, nulls []string) []string {
	for _, v := range []struct {
		keyword string
		list    bool
	}{{"default", false}, {"enum", true}, {"examples", true}} {
		value := jsonrpc.Get(p.Raw(), v.keyword)
		if value == nil || r.compiled > maxCompiled {
			continue
		}
		var without []string
		if v.keyword == "enum" {
			without = append(without, "enum")
		}
		alone := p.Alone(without...)
		r.compiled += len(alone)
		check, err := schema.Compile(alone)
		if err != nil {
			continue // the schema has a reference to another place in the whole schema
		}
		each := func(value []byte) bool {
			err := check.Validate(value)
			if name := p.field[strings.LastIndexByte(p.field, '.')+1:]; err != nil && v.keyword == "default" && string(value) == "null" {
				nulls = append(nulls, name)
				return false
			}
			if err != nil {
				r.add(UnfitValue, Warning, p.field+"."+v.keyword, fmt.Sprintf("%s does not fit its own schema: %v", plaintext.Short(string(value), 40), err),
					"models send such values, and calls with them are refused: change the value or the schema")
				return false
			}
			return true
		}
		if !v.list {
			each(value)
		} else {
			jsonrpc.EachElement(value, each)
		}
	}
	return nulls
}
