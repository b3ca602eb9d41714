package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/model"
)

var dialects = []string{"plain", "openai", "anthropic", "gemini", "grammar"}

func dialect(t testing.TB, name string) model.Dialect {
	t.Helper()
	d, ok := model.DialectNamed(name)
	if !ok || d.Name != name {
		t.Fatalf("no dialect %q", name)
	}
	return d
}

func lower(t testing.TB, d, raw string) (string, string) {
	t.Helper()
	tool := model.Tool{Name: "t"}
	if raw != "" {
		tool.Schema = json.RawMessage(raw)
	}
	tools, notes := model.Lower([]model.Tool{tool}, dialect(t, d))
	text := ""
	if len(notes) > 0 {
		text = notes[0].Text
	}
	if len(tools) == 0 {
		if len(notes) != 1 || !notes[0].SetAside || notes[0].Tool != "t" {
			t.Errorf("the tool is gone, and the notes are %+v", notes)
		}
		return "", text
	}
	return string(tools[0].Schema), text
}

func TestLowerRewritesForDialects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, dialect, schema, want, note string }{
		{"no schema is an object without properties", "openai", ``, `{"type":"object","properties":{}}`, ""},
		{"an empty one too", "openai", `{}`, `{"type":"object","properties":{}}`, ""},
		{"what is taken stays as it is", "openai", `{"type":"object","properties":{"b":{"type":["string","null"]},"a":{"anyOf":[{"const":1},{"type":"string","format":"uri"}]}},"additionalProperties":false}`, `=`, ""},
		{"one of several, with references, is any of them", "openai", `{"type":"object","properties":{"a":{"oneOf":[{"const":1},{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"string"}}}`, "/properties/a: oneOf"},
		{"comments for validators are left out", "anthropic", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"an array says what its items are", "openai", `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`, "/properties/a: an array without items"},
		{"a reference at the root is followed", "anthropic", `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"type":"string"}}}}}`, `{"$defs":{"In":{"type":"object","properties":{"a":{"type":"string"}}}},"type":"object","properties":{"a":{"type":"string"}}}`, "/: $ref at the root"},
		{"an anchor is followed", "openai", `{"type":"object","properties":{"a":{"$ref":"#t"}},"$defs":{"x":{"$anchor":"t","type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}},"$defs":{"x":{"$anchor":"t","type":"string"}}}`, "$ref #t"},
		{"the name of the whole is followed", "openai", `{"$id":"https://a.example/s","type":"object","properties":{"a":{"$ref":"https://a.example/s#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, `{"$id":"https://a.example/s","type":"object","properties":{"a":{"type":"string"}},"$defs":{"x":{"type":"string"}}}`, "$ref https"},
		{"alternatives at the root become one object", "openai", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a","k"]},{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b","k"]}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{"description":"(in one form {\"type\":\"string\"})"}},"required":["k"],"description":"(one of these forms: {a, k} or {b, k})"}`, "alternatives of objects"},
		{"required alternatives become words", "anthropic", `{"type":"object","description":"Pick.","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","description":"Pick. (one of these forms: {a} or {b})","properties":{"a":{},"b":{}}}`, "alternatives of objects"},
		{"allOf at the root is merged", "openai", `{"allOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`, "allOf at the root"},
		{"a property that other forms forbid is as its form has it", "anthropic", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"additionalProperties":false},{"properties":{"b":{"type":"integer","description":"B"}}}]}`,
			`{"type":"object","properties":{"a":{"description":"(in one form {\"type\":\"string\"})"},"b":{"type":"integer","description":"B"}},"description":"(one of these forms: {a} or {b})"}`, "alternatives of objects"},
		{"allOf within allOf at the root is merged", "openai", `{"allOf":[{"allOf":[{"type":"object","properties":{"a":{}}}]}]}`, `{"type":"object","properties":{"a":{}}}`, "allOf at the root"},
		{"what schemas merged say of the same becomes words", "openai", `{"type":"object","minProperties":1,"allOf":[{"minProperties":2}]}`, `{"type":"object","minProperties":1,"description":"(minProperties 2)","properties":{}}`, "allOf at the root"},
		{"what depends on rewritten neighbours becomes words", "openai", `{"type":"object","properties":{},"unevaluatedProperties":{"type":"string"}}`, `{"type":"object","properties":{},"description":"(others are {\"type\":\"string\"})"}`, "unevaluatedProperties"},
		{"one of several that refer to what is rewritten is any of them", "openai", `{"type":"object","properties":{"a":{"oneOf":[{"const":1},{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"any","minimum":2}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"minimum":2}}}`, "not known"},
		{"a negation becomes words", "openai", `{"type":"object","properties":{},"not":{"required":["a"]}}`, `{"type":"object","properties":{},"description":"(not {\"required\":[\"a\"]})"}`, "not"},
		{"draft 4's bounds, which providers refuse, are left out", "anthropic", `{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"exclusiveMaximum":false}}}`, `{"type":"object","properties":{"n":{"type":"number","minimum":0}}}`, "/properties/n: exclusiveMinimum is no number"},
		{"what is merged brings its items with those in order", "openai", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}},"b":{"$ref":"#/properties/a"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, "$ref #/properties/a"},
		{"required that is no list is left out", "openai", `{"type":"object","properties":{"a":{"type":"string","required":true}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "required is not a list of something"},
		{"a list of items is today's", "anthropic", `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"}],"additionalItems":{"type":"string"}}}}`, `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"number"}],"items":{"type":"string"}}}}`, "items is a list"},
		{"types that there are not are left out", "openai", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":["string","file"]}}}`, `{"type":"object","properties":{"a":{},"b":{}}}`, `type "any" is not known`},
		{"names of properties that are not portable become words", "anthropic", `{"type":"object","properties":{"城市":{"type":"string"},"a":{}},"required":["城市","a"],"additionalProperties":false}`, `{"type":"object","properties":{"a":{}},"required":["a"],"description":"(also takes [\"城市\"]: {\"type\":\"string\"})"}`, "without a portable name"},
		{"a reference that leads nowhere allows anything", "openai", `{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json","description":"D"}}}`, `{"type":"object","properties":{"a":{"description":"D"}}}`, "leads nowhere"},
		{"a reference to elsewhere than $defs is resolved", "openai", `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "$ref #/properties/a"},

		{"Gemini: additionalProperties, title and $schema go without a word", "gemini", `{"$schema":"x","title":"T","type":"object","properties":{"a":{"type":"string","title":"A"}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"Gemini: references are resolved", "gemini", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"D"}},"$defs":{"x":{"type":"integer","description":"X"}}}`, `{"type":"object","properties":{"a":{"description":"D","type":"integer"}}}`, "$ref #/$defs/x"},
		{"Gemini: recursion is cut", "gemini", `{"type":"object","properties":{"n":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","properties":{"next":{"type":"object","description":"(again Node)"}}}}}`, "recursive"},
		{"Gemini: a constant is an enum of one", "gemini", `{"type":"object","properties":{"a":{"const":"x"}}}`, `{"type":"object","properties":{"a":{"enum":["x"],"type":"string"}}}`, ""},
		{"Gemini: an enum of numbers becomes words", "gemini", `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`, `{"type":"object","properties":{"a":{"type":"integer","description":"(one of [1,2])"}}}`, "enum of other values than text"},
		{"Gemini: an enum with null is nullable", "gemini", `{"type":"object","properties":{"a":{"enum":["x",null]}}}`, `{"type":"object","properties":{"a":{"enum":["x"],"nullable":true,"type":"string"}}}`, ""},
		{"Gemini: null as a type is nullable", "gemini", `{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`, "a list of types"},
		{"Gemini: null as an alternative is nullable", "gemini", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`, `{"type":"object","properties":{"a":{"nullable":true,"type":"string","description":"(default null)"}}}`, "default"},
		{"Gemini: several types are alternatives, and their keywords words", "gemini", `{"type":"object","properties":{"a":{"type":["string","integer"],"minimum":1,"maxLength":3,"description":"D"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"D (at least 1; maxLength 3)"},{"type":"integer","description":"D (at least 1; maxLength 3)"}]}}}`, "a list of types"},
		{"Gemini: oneOf is anyOf, and stands alone", "gemini", `{"type":"object","properties":{"a":{"description":"D","oneOf":[{"type":"string"},{"type":"object","properties":{"x":{}}}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"D"},{"type":"object","properties":{"x":{}},"description":"D"}]}}}`, "oneOf"},
		{"Gemini: keywords it does not know become words", "gemini", `{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0,"multipleOf":2},"b":{"type":"object","propertyNames":{"pattern":"^x"},"additionalProperties":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"number","description":"(more than 0; a multiple of 2)"},"b":{"type":"object","description":"(propertyNames {\"pattern\":\"^x\"}; others are {\"type\":\"string\"})"}}}`, "propertyNames"},
		{"Gemini: formats it does not know become words", "gemini", `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"(format uri)"},"b":{"type":"string","format":"date-time"}}}`, ""},
		{"Gemini: only what there is can be required", "gemini", `{"type":"object","properties":{"a":{}},"required":["a","b","a"]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, ""},
		{"Gemini: items in order become words", "gemini", `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"number"}],"items":false}}}`, `{"type":"object","properties":{"p":{"type":"array","items":{},"description":"(the items in order: [{\"type\":\"number\"}])"}}}`, "prefixItems"},
		{"Gemini: a schema that is true or false allows anything", "gemini", `{"type":"object","properties":{"a":true,"b":false}}`, `{"type":"object","properties":{"a":{},"b":{}}}`, "anything is allowed"},
		{"llama.cpp: names that match a pattern are not others", "grammar", `{"type":"object","properties":{},"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"type":"object","properties":{},"description":"(patternProperties {\"^x\":{}})"}`, "patternProperties"},
		{"llama.cpp: patterns become words", "grammar", `{"type":"object","properties":{"a":{"type":"string","pattern":"x+"}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"(pattern \"x+\")"}}}`, "pattern"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want == "=" {
				test.want = test.schema
			}
			got, note := lower(t, test.dialect, test.schema)
			if got != test.want {
				t.Errorf("got\n%s\nnot\n%s", got, test.want)
			}
			if !strings.Contains(note, test.note) || test.note == "" && note != "" {
				t.Errorf("the note is %q, without %q", note, test.note)
			}
		})
	}
}

func TestLowerSetsUnsendableToolsAside(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	wide := &strings.Builder{}
	wide.WriteString(`{"type":"object","$defs":{"d0":{"type":"string"}`)
	for i := 1; i < 30; i++ {
		fmt.Fprintf(wide, `,"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1)
	}
	wide.WriteString(`},"properties":{"x":{"$ref":"#/$defs/d29"}}}`)
	heavy := `{"type":"object","$defs":{"h":{"description":"` + strings.Repeat("x", 100_000) + `"}},"properties":{`
	for i := range 400 {
		heavy += fmt.Sprintf(`"p%d":{"$ref":"#/$defs/h"},`, i)
	}
	heavy += `"last":{}}}`
	for _, test := range []struct{ name, schema, why string }{
		{"no JSON", `{"type":`, "is not valid JSON"},
		{"two members of one name", `{"type":"object","type":"object"}`, "is not valid JSON"},
		{"no object", `"object"`, "does not describe an object"},
		{"true", `true`, "does not describe an object"},
		{"a list", `{"type":"array"}`, "does not describe an object"},
		{"a text or a number", `{"type":["string","number"]}`, "does not describe an object"},
		{"too large", `{"description":"` + strings.Repeat("x", 300_000) + `"}`, "is larger than 256 KiB"},
		{"too deep", deep, "deep"},
		{"references that double thirty times", wide.String(), "once references are resolved"},
		{"a heavy reference many times", heavy, "once references are resolved"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got, note string
			took := threadtime.Of(func() { got, note = lower(t, "gemini", test.schema) })
			if got != "" || !strings.Contains(note, test.why) {
				t.Errorf("%.100s %q, without %q", got, note, test.why)
			}
			if took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// See github/copilot-cli#4623: one malformed schema broke the whole request, and the error did not
// name the tool.
func TestLowerOneBadToolDoesNotSpoilTheOthers(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{
		{Name: "good", Description: "D", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "bad", Schema: json.RawMessage(`{"type":"array"}`)},
		{Name: "odd", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"not":{}}}}`)},
	}
	got, notes := model.Lower(tools, dialect(t, "gemini"))
	if len(got) != 2 || got[0].Name != "good" || got[0].Description != "D" || got[1].Name != "odd" {
		t.Errorf("%+v", got)
	}
	if len(notes) != 2 || notes[0].Tool != "bad" || !notes[0].SetAside || notes[1].Tool != "odd" || notes[1].SetAside {
		t.Errorf("%+v", notes)
	}
	if string(tools[2].Schema) != `{"type":"object","properties":{"a":{"not":{}}}}` {
		t.Error("the caller's tool was changed")
	}
}

// See bethington/ghidra-mcp#440: 239 tools are too many for a provider.
func TestLowerKeepsTheFirstTools(t *testing.T) {
	t.Parallel()
	var tools []model.Tool
	for i := range 239 {
		tools = append(tools, model.Tool{Name: fmt.Sprintf("t%d", i)})
	}
	got, notes := model.Lower(tools, dialect(t, "openai"))
	if len(got) != 128 || got[127].Name != "t127" || len(notes) != 111 || notes[0].Tool != "t128" || !notes[0].SetAside {
		t.Errorf("%d tools, %d notes", len(got), len(notes))
	}
	if all, _ := model.Lower(tools, dialect(t, "plain")); len(all) != 239 {
		t.Errorf("without a limit there are %d", len(all))
	}
}

func TestLowerGivesTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		raw := object(r, 3)
		for _, d := range dialects {
			first, _ := lower(t, d, raw)
			if second, _ := lower(t, d, raw); second != first {
				t.Fatalf("%s\n%s\n%s", raw, first, second)
			}
			again, note := lower(t, d, first)
			if d == "gemini" && again != first {
				t.Fatalf("what was lowered is lowered again (%s):\n%s\n%s", note, first, again)
			}
		}
	}
}

// A lowered schema accepts all values that the schema accepts.
func TestLowerKeepsAcceptedValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine reads many schemas")
	}
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 700 {
		raw := object(r, 3)
		original := compiled(t, raw)
		for _, d := range dialects {
			got, _ := lower(t, d, raw)
			validator := compiled(t, unnullable(got))
			for range 12 {
				value := []byte(sample(r, json.RawMessage(raw), 0))
				if original.Validate(value) != nil {
					continue
				}
				accepted++
				if err := validator.Validate(value); err != nil {
					t.Fatalf("%s: %s\nis accepted by\n%s\nbut not by\n%s\n%v", d, value, raw, got, err)
				}
			}
		}
	}
	if accepted < 1_000 {
		t.Errorf("only %d samples said anything", accepted)
	}
}

func compiled(t *testing.T, raw string) *schema.Validator {
	t.Helper()
	v, err := schema.Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// unnullable converts OpenAPI's nullable to JSON Schema.
func unnullable(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = walk(v[name])
			}
			if v["nullable"] == true {
				delete(v, "nullable")
				return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
			}
		}
		return v
	}
	out, _ := json.Marshal(walk(v))
	return string(out)
}

// object returns a random schema of an object.
func object(r *rand.Rand, depth int) string {
	var properties []string
	names := []string{"a", "b", "c"}[:1+r.IntN(3)]
	for _, name := range names {
		properties = append(properties, fmt.Sprintf("%q:%s", name, anySchema(r, depth-1)))
	}
	more := ""
	if r.IntN(2) == 0 {
		more += fmt.Sprintf(`,"required":[%q]`, names[r.IntN(len(names))])
	}
	more += pick(r, ``, ``, `,"additionalProperties":false`, `,"additionalProperties":{"type":"string"}`, `,"minProperties":1`,
		`,"patternProperties":{"^[bc]":{"type":["integer","string"]}},"additionalProperties":false`)
	more += pick(r, ``, ``, `,"anyOf":[{"required":["a"]},{"required":["b"]}]`, `,"not":{"required":["c","b"]}`,
		`,"allOf":[{"required":["a"]},{"properties":{"a":{"type":"string"}}}]`, `,"propertyNames":{"maxLength":1}`,
		`,"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}},"required":["b"]}]`,
		`,"oneOf":[{"properties":{"a":{"const":"x"},"c":{"type":"string"}},"required":["a"],"additionalProperties":false},{"properties":{"a":{"const":2}},"patternProperties":{"^[bc]":{"type":"integer"}},"additionalProperties":false}]`,
		`,"allOf":[{"patternProperties":{"^b":{}},"additionalProperties":false},{"patternProperties":{"^[ac]":{}}}]`,
		`,"allOf":[{"if":{"required":["b"]},"then":{"required":["a"]}},{"if":{"$ref":"#/$defs/r"},"else":{"required":["c"]}}]`,
		`,"anyOf":[{"$ref":"#/$defs/r"},{"additionalProperties":{"type":"integer"}}],"unevaluatedProperties":false`,
		`,"dependentSchemas":{"a":{"required":["b"]}}`, `,"if":{"properties":{"a":{"type":"array"}}},"then":{"required":["b"]}`)
	return fmt.Sprintf(`{"type":"object","properties":{%s}%s,"$defs":{"s":{"type":"string"},"t":{"type":["string","array"],"maxItems":1,"anyOf":[{"type":"string","nullable":false},{"items":{"type":"string"}}]},"r":{"type":"object","properties":{"a":{"$ref":"#/$defs/r"}}}}}`, strings.Join(properties, ","), more)
}

func anySchema(r *rand.Rand, depth int) string {
	if depth > 0 {
		switch r.IntN(6) {
		case 0:
			s := object(r, depth)
			return s[:strings.LastIndex(s, `,"$defs"`)] + "}"
		case 1:
			return `{"type":"array","items":` + anySchema(r, depth-1) + `}`
		case 2:
			return fmt.Sprintf(`{"%s":[%s,%s],"description":"d"}`, pick(r, "anyOf", "oneOf"), anySchema(r, depth-1), anySchema(r, depth-1))
		}
	}
	return pick(r, `{"type":"string"}`, `{"type":["string","null"],"maxLength":1}`, `{"type":["string","integer","array"],"minimum":2,"items":{"type":"integer"}}`,
		`{"enum":["x","y",null]}`, `{"enum":[1,"x"]}`, `{"const":"x"}`, `{"const":2}`, `{"type":"integer","exclusiveMinimum":1}`, `{"$ref":"#/$defs/s"}`,
		`{"$ref":"#/$defs/r"}`, `true`, `{}`, `{"type":"array"}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`,
		`{"type":"null"}`, `{"type":"string","format":"uri","enum":["x",""]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"not":{"type":"string"}}`,
		`{"oneOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/t"}]}`, `{"not":{"$ref":"#/$defs/t"}}`, `{"oneOf":[{"type":"array"},{"const":2}],"anyOf":[{"type":"array"},{"type":"integer"}]}`,
		`{"allOf":[{"prefixItems":[{"type":"string"}]},{"prefixItems":[{},{"type":"integer"}],"items":false}]}`,
		`{"type":"array","contains":{"$ref":"#/$defs/t"},"maxContains":1}`, `{"type":"array","contains":{"type":"string"},"minContains":0}`,
		`{"allOf":[{"contains":{"type":"string"}},{"contains":{"type":"integer"},"minContains":0}]}`, `{"$ref":"#/$defs/t/anyOf/1"}`, `{"nullable":false,"anyOf":[{"type":"string","nullable":false},{"type":"integer"}]}`)
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// sample returns a value that one of these schemas could accept.
func sample(r *rand.Rand, raw json.RawMessage, depth int) string {
	var s struct {
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	if json.Unmarshal(raw, &s) != nil || depth > 4 {
		return pick(r, `"x"`, `1`)
	}
	if s.Properties != nil {
		var members []string
		names := []string{}
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if r.IntN(4) > 0 {
				members = append(members, fmt.Sprintf("%q:%s", name, sample(r, s.Properties[name], depth+1)))
			}
		}
		for _, name := range []string{"b", "c", "d"} { // properties that the schema does not describe, or not at this place
			if s.Properties[name] == nil && r.IntN(4) == 0 {
				members = append(members, fmt.Sprintf("%q:%s", name, sample(r, nil, 5)))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return pick(r, `"x"`, `"y"`, `""`, `1`, `2`, `3`, `null`, `[]`, `[2]`, `["x",3]`, `["x"]`, `["x",3,4]`, `["x","y"]`, `{}`, `{"a":{"a":{}}}`, `true`)
}

func FuzzLower(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"anyOf":[{"required":["a"]}]}`)
	f.Add(`{"$ref":"#","allOf":[{"$ref":"#/allOf/0"}],"items":[true],"enum":[null]}`)
	f.Add(`{"propertIes":[]}`)
	f.Add(`{"type":["object","null"],"properties":{"":{"type":[],"enum":[""],"const":{}}},"required":["",""]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, d := range dialects {
			got, _ := lower(t, d, raw)
			if got == "" {
				continue
			}
			var root, properties map[string]json.RawMessage // a struct would also accept "propertIes" for its member
			err := json.Unmarshal([]byte(got), &root)
			if err == nil {
				err = json.Unmarshal(root["properties"], &properties)
			}
			if err != nil || properties == nil {
				t.Errorf("%s: %s became %s: %v", d, raw, got, err)
			}
			if again, _ := lower(t, d, raw); again != got {
				t.Errorf("%s: %s became %s, and then %s", d, raw, got, again)
			}
		}
	})
}

func BenchmarkLower(b *testing.B) {
	var tools []model.Tool
	for i := range 100 {
		tools = append(tools, model.Tool{Name: fmt.Sprint("t", i), Schema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"oneOf":[{"$ref":"#/$defs/x"},{"type":"null"}]},"c":{"type":"array"}},"required":["a"],"$defs":{"x":{"type":"object","properties":{"d":{"type":"string","description":"A text."},"e":{"enum":[1,2]}}}}}`)})
	}
	for _, name := range []string{"openai", "gemini"} {
		d, _ := model.DialectNamed(name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				model.Lower(tools, d)
			}
		})
	}
}
