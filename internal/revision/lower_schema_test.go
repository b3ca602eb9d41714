package revision_test

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// In schema.json of every revision before 2026-07-28 the schemas of tools have only objects as
// values of properties.
func TestLegacyRevisionsGetNoBooleanSchemas(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{"any":true,"never":false}}`, `{"type":"object","properties":{"any":{},"never":{"not":{}}}}`},
		{`{"type":"object","properties" : { "any" : true }}`, `{"type":"object","properties":{"any":{}}}`},
		{`{"type":"object","properties":{"a":{"type":"array","items":true}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`},
		{`{"type":"object","properties":{"a":{"items":[true,{"type":"string"}],"additionalItems":false}}}`, `{"type":"object","properties":{"a":{"items":[{},{"type":"string"}],"additionalItems":false}}}`},
		{`{"type":"object","additionalProperties":false,"properties":{}}`, `{"type":"object","additionalProperties":false,"properties":{}}`},
		{`{"type":"object","additionalProperties":{"properties":{"a":true}}}`, `{"type":"object","additionalProperties":{"properties":{"a":{}}}}`},
		{`{"type":"object","$defs":{"x":true,"y":{"allOf":[true,{"anyOf":[false]}]}}}`, `{"type":"object","$defs":{"x":{},"y":{"allOf":[{},{"anyOf":[{"not":{}}]}]}}}`},
		{`{"type":"object","if":true,"then":{"not":false},"else":false}`, `{"type":"object","if":{},"then":{"not":{"not":{}}},"else":{"not":{}}}`},
		{`{"type":"object","patternProperties":{"^a":true},"dependentSchemas":{"a":false},"propertyNames":true,"oneOf":[true]}`, `{"type":"object","patternProperties":{"^a":{}},"dependentSchemas":{"a":{"not":{}}},"propertyNames":{},"oneOf":[{}]}`},
		{`{"type":"object","dependencies":{"a":["b"],"c":true}}`, `{"type":"object","dependencies":{"a":["b"],"c":{}}}`},
		{`{"type":"object","properties":{"properties":true,"items":{"type":"boolean","default":true}}}`, `{"type":"object","properties":{"properties":{},"items":{"type":"boolean","default":true}}}`},
		{`{"type":"object","properties":{"a":{"enum":[true,false],"const":true,"examples":[{"properties":{"a":true}}],"uniqueItems":true}}}`, `{"type":"object","properties":{"a":{"enum":[true,false],"const":true,"examples":[{"properties":{"a":true}}],"uniqueItems":true}}}`},
		{`{"type":"object","prop\u0065rties":{"a":true}}`, `{"type":"object","prop\u0065rties":{"a":{}}}`},
		{`{"type":"object","description":"what is \"properties\": true","properties":{"a":{"description":"a: true, [false]"}}}`, `{"type":"object","description":"what is \"properties\": true","properties":{"a":{"description":"a: true, [false]"}}}`},
		{`true`, `{"type":"object"}`},
		{`false`, `{"not":{},"type":"object"}`},
	} {
		for _, name := range revision.Legacy() {
			r := revision.Lookup(name)
			tools := `{"tools":[{"name":"first","inputSchema":{"type":"object"}},{"name":"t","annotations":{"readOnlyHint":true},"inputSchema":` + c.schema + `}]}`
			out, err := r.AppendResult(nil, "tools/list", revision.Envelope{}, revision.Body{JSON: []byte(tools)})
			if err != nil || !json.Valid(out) {
				t.Fatalf("%s %s: %s, %v", name, c.schema, out, err)
			}
			if got := schemaOf(out, "inputSchema"); got != c.want {
				t.Errorf("%s, inputSchema %s: got %s, want %s", name, c.schema, got, c.want)
			}
			asked := r.ServerRequestParams("sampling/createMessage", json.RawMessage(tools))
			if got := schemaOf(asked, "inputSchema"); got != c.want {
				t.Errorf("%s, of sampling, %s: got %s, want %s", name, c.schema, got, c.want)
			}
		}
		tools := `{"tools":[{"name":"first"},{"name":"t","inputSchema":` + c.schema + `}]}`
		out, err := revision.Latest().AppendResult(nil, "tools/list", revision.Envelope{}, revision.Body{JSON: []byte(tools)})
		if got := schemaOf(out, "inputSchema"); err != nil || got != c.schema {
			t.Errorf("modern, %s: got %s, %v", c.schema, got, err)
		}
	}
}

func TestOutputSchemasOfLegacyRevisionsHaveNoBooleanSchemas(t *testing.T) {
	tools := `{"tools":[{"name":"f"},{"name":"t","inputSchema":{},"outputSchema":{"type":"object","properties":{"a":true}}}]}`
	out, err := revision.Lookup("2025-06-18").AppendResult(nil, "tools/list", revision.Envelope{}, revision.Body{JSON: []byte(tools)})
	if got := schemaOf(out, "outputSchema"); err != nil || got != `{"type":"object","properties":{"a":{}}}` {
		t.Errorf("got %s, %v", out, err)
	}
}

// schemaOf returns a schema of the second tool.
func schemaOf(list []byte, name string) string {
	var last json.RawMessage
	jsonrpc.EachElement(jsonrpc.Get(list, "tools"), func(tool []byte) bool { last = jsonrpc.Get(tool, name); return true })
	return string(last)
}

func TestSamplingMessagesFitTheRevision(t *testing.T) {
	params := json.RawMessage(`{"messages":[{"role":"user","content":{"type":"audio","mimeType":"audio/wav","data":""}}],"maxTokens":1}`)
	if got := revision.Lookup("2024-11-05").ServerRequestParams("sampling/createMessage", params); string(got) != `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"[audio audio/wav]"}}]}` {
		t.Errorf("got %s", got)
	}
	if got := revision.Lookup("2025-03-26").ServerRequestParams("sampling/createMessage", params); string(got) != string(params) {
		t.Errorf("got %s", got)
	}
}
