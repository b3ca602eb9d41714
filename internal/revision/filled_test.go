package revision_test

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// The members are those that schema.ts of 2026-07-28 requires of each result.
func TestResultsHaveTheMembersThatTheSchemaRequires(t *testing.T) {
	for _, c := range []struct{ method, result, want string }{
		{"tools/list", `{}`, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`},
		{"prompts/list", `{"prompts":null}`, `{"resultType":"complete","prompts":[],"ttlMs":0,"cacheScope":"private"}`},
		{"resources/list", `{"nextCursor":"a"}`, `{"resultType":"complete","nextCursor":"a","resources":[],"ttlMs":0,"cacheScope":"private"}`},
		{"resources/templates/list", `{}`, `{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":"private"}`},
		{"resources/read", `{}`, `{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}`},
		{"prompts/get", `{"description":"d"}`, `{"resultType":"complete","description":"d","messages":[]}`},
		{"completion/complete", `{}`, `{"resultType":"complete","completion":{"values":[]}}`},
		{"completion/complete", `{"completion":{"total":0}}`, `{"resultType":"complete","completion":{"total":0,"values":[]}}`},
		{"completion/complete", `{"completion":{"values":["a"]}}`, `{"resultType":"complete","completion":{"values":["a"]}}`},
		{"tools/call", `{"structuredContent":{"n":7},"isError":false}`, `{"resultType":"complete","structuredContent":{"n":7},"isError":false,"content":[]}`},
		{"tools/call", `{"content":null,"structuredContent":{"n":7}}`, `{"resultType":"complete","structuredContent":{"n":7},"content":[]}`},
		{"tools/call", `{"content":[{"type":"text","text":"a"}]}`, `{"resultType":"complete","content":[{"type":"text","text":"a"}]}`},
		{"tools/call", `{"task":{"taskId":"a"}}`, `{"resultType":"complete","task":{"taskId":"a"}}`},
		{"ping", `{}`, `{"resultType":"complete"}`},
	} {
		members, fault := jsonrpc.Index([]byte(c.result), jsonrpc.Limits{})
		if fault != nil {
			t.Fatal(fault)
		}
		body, e, err := revision.Lookup("2025-11-25").Split(c.method, json.RawMessage(c.result), &members)
		if err != nil {
			t.Fatal(err)
		}
		out, err := revision.Latest().AppendResult(nil, c.method, e, revision.Body{JSON: revision.Filled(c.method, body, &members)})
		if err != nil || string(out) != c.want {
			t.Errorf("%s %s: got %s, %v", c.method, c.result, out, err)
		}
	}
}
