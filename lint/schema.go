package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// refusing are the dialects of which a request is refused as a whole if one schema is not taken.
var refusing = []string{"openai", "anthropic"}

// checkSchemas looks at the schemas of a tool.
func (r *report) checkSchemas(t *tool) {
	switch {
	case t.InputSchema == nil:
		r.add(Protocol, Error, "inputSchema", "it is missing", `without arguments it is {"type": "object"}: the specification requires it (server/tools)`)
	case !isObject(t.InputSchema) || rootType(t.InputSchema) != "object":
		r.add(Protocol, Error, "inputSchema", `its type is not "object"`, `write "type": "object": the specification requires it (server/tools)`)
	default:
		t.inputFits = r.valid(t.InputSchema, "inputSchema")
	}
	t.outputFits = t.OutputSchema == nil || r.valid(t.OutputSchema, "outputSchema")
	if t.inputFits {
		r.refused(t)
		r.inside(t.InputSchema, "inputSchema")
	}
	if t.outputFits && t.OutputSchema != nil {
		r.inside(t.OutputSchema, "outputSchema")
	}
}

// rootType is the type of a schema that has one.
func rootType(raw json.RawMessage) string { return text(raw, "type") }

// valid reports whether a schema can be used.
func (r *report) valid(raw json.RawMessage, field string) bool {
	_, err := schema.Compile(raw)
	if err != nil {
		r.add(InvalidSchema, Error, field, strings.TrimPrefix(err.Error(), "schema "), "correct it, as hosts leave the tool out, or cannot check what is sent and what comes back")
	}
	return err == nil
}

// refused reports what providers do not take of an input schema.
func (r *report) refused(t *tool) {
	plain, _ := model.DialectNamed("plain")
	if _, err := model.Changes(t.InputSchema, plain); err != nil {
		r.add(RefusedSchema, Error, "inputSchema", "no model can be given it: it "+err.Error(), "make it smaller and flatter, or make several tools of this one")
		return
	}
	var changes []string
	who := map[string][]string{} // by what they do not take
	for _, name := range refusing {
		dialect, _ := model.DialectNamed(name)
		all, _ := model.Changes(t.InputSchema, dialect) // an error is of what was rewritten only
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
		r.add(RefusedSchema, Warning, "inputSchema"+strings.ReplaceAll(strings.TrimSuffix(at, "/"), "/", "."), fmt.Sprintf("%s: %s would refuse the whole request of a host that sends it as it is", what, strings.Join(who[change], " and ")),
			"say it with type, properties, required and items, or in the description")
	}
}

// taken are keywords that Lower puts into words, as they would mean something else next to what it
// rewrites; providers take them.
var taken = []string{"oneOf", "if", "then", "else", "contains", "minContains", "maxContains", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"}

// isRefused reports whether a provider refuses what a change does away with. Other changes are
// for the model to understand more, and for the references that another change breaks.
func isRefused(change string) bool {
	at, what, _ := strings.Cut(change, ": ")
	switch what {
	case "an array without items", "items is a list", "exclusiveMinimum is no number", "exclusiveMaximum is no number":
		return true
	}
	return at == "/" && !slices.Contains(taken, what)
}

// maxCompiled is how many bytes of schemas are compiled to see whether defaults, examples and choices
// fit: each with the definitions of its whole schema.
const maxCompiled = 32 << 20

// A walk looks at all schemas within a schema.
type walk struct {
	report *report
	root   json.RawMessage
	nulls  []string // properties whose default is null, which does not fit
}

// inside looks at a schema and those within it.
func (r *report) inside(raw json.RawMessage, field string) {
	w := &walk{report: r, root: raw}
	w.schema(raw, field, true)
	if len(w.nulls) > 0 { // together, as generators of schemas make many of them
		r.add(UnfitValue, Warning, field, fmt.Sprintf("the default null does not fit the type of %s", strings.Join(w.nulls, ", ")),
			"models send null then, which a host or server that checks calls refuses: allow null, or leave the default out (in Python: str | None = None, not str = None)")
	}
}

// schema looks at one schema. alone says that nothing around it adds to what it says.
func (w *walk) schema(raw json.RawMessage, field string, alone bool) {
	if !isObject(raw) {
		return
	}
	if alone {
		w.required(raw, field)
	}
	w.fit(raw, field)
	jsonrpc.EachMember(raw, func(name, value []byte) bool {
		keyword, _ := jsonrpc.Unquote(name)
		at := field + "." + keyword
		switch keyword {
		case "properties", "$defs", "definitions", "patternProperties":
			jsonrpc.EachMember(value, func(name, value []byte) bool {
				property, _ := jsonrpc.Unquote(name)
				w.schema(value, at+"."+property, keyword == "properties" || keyword == "patternProperties")
				return true
			})
		case "items", "additionalProperties":
			w.schema(value, at, true)
		case "prefixItems", "anyOf", "oneOf", "allOf":
			i := 0
			jsonrpc.EachElement(value, func(value []byte) bool {
				w.schema(value, fmt.Sprintf("%s[%d]", at, i), keyword == "prefixItems")
				i++
				return true
			})
		}
		return true
	})
}

// required reports names that are required and described nowhere. Where other schemas say
// something of the same value, they may describe it.
func (w *walk) required(raw json.RawMessage, field string) {
	properties := jsonrpc.Get(raw, "properties")
	for _, other := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"} {
		if jsonrpc.Get(raw, other) != nil {
			return
		}
	}
	var missing []string
	described := map[string]bool{}
	jsonrpc.EachMember(properties, func(quoted, _ []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		described[name] = true
		return true
	})
	jsonrpc.EachElement(jsonrpc.Get(raw, "required"), func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok && !described[name] {
			missing = append(missing, name)
		}
		return true
	})
	if len(missing) == 0 {
		return
	}
	severity, what := Warning, "requires %s, of which nothing says what it is"
	if string(jsonrpc.Get(raw, "additionalProperties")) == "false" {
		severity, what = Error, "requires %s and allows no such property, so that nothing fits"
	}
	w.report.add(UnknownRequired, severity, field+".required", fmt.Sprintf(what, strings.Join(missing, ", ")), "describe it under properties, or do not require it: is the name written rightly?")
}

// fit reports values in a schema that do not fit it.
func (w *walk) fit(raw json.RawMessage, field string) {
	for _, v := range []struct {
		keyword string
		list    bool
	}{{"default", false}, {"enum", true}, {"examples", true}} {
		value := jsonrpc.Get(raw, v.keyword)
		if value == nil || w.report.compiled > maxCompiled {
			continue
		}
		alone := w.alone(raw, v.keyword)
		w.report.compiled += len(alone)
		check, err := schema.Compile(alone)
		if err != nil {
			continue // a reference that leads elsewhere in the whole
		}
		each := func(value []byte) bool {
			err := check.Validate(value)
			if name := field[strings.LastIndexByte(field, '.')+1:]; err != nil && v.keyword == "default" && string(value) == "null" {
				w.nulls = append(w.nulls, name)
				return false
			}
			if err != nil {
				w.report.add(UnfitValue, Warning, field+"."+v.keyword, fmt.Sprintf("%s does not fit the schema that it stands in: %v", short(value), err),
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
}

// alone is a schema within the whole, with the definitions of the whole, and without one keyword.
func (w *walk) alone(raw json.RawMessage, keyword string) json.RawMessage {
	out := jsonrpc.NewObject(nil)
	without := []string{"$schema"}
	if keyword == "enum" {
		without = append(without, keyword)
	}
	definitions := []string{"$schema", "$defs", "definitions"}
	for _, name := range definitions {
		if value := jsonrpc.Get(w.root, name); value != nil && jsonrpc.Get(raw, name) == nil {
			out.Raw(name, value)
		}
	}
	out.Members(raw, without...)
	return out.Bytes()
}

// short is a value as far as it is shown.
func short(value []byte) string {
	if text := string(value); len(text) <= 40 {
		return text
	}
	return strings.ToValidUTF8(string(value[:40]), "") + "…"
}
