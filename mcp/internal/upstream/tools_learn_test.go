package upstream

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestAToolThatLosesItsHeaderAnnotationIsCalledWithoutHeaders(t *testing.T) {
	with := json.RawMessage(`{"tools":[{"name":"q","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)
	without := json.RawMessage(`{"tools":[{"name":"q","inputSchema":{"type":"object","properties":{"region":{"type":"string"}}}}]}`)
	req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"q","arguments":{"region":"eu"}}`))
	req.ParamHeaders = map[string][]string{}
	var tools toolTable
	keep := func(string, error) bool { return false }
	tools.learn(with, keep)
	if tools.check(req) == nil {
		t.Error("a call without the header that the tool wants was let through")
	}
	tools.learn(without, keep)
	if err := tools.check(req); err != nil {
		t.Error(err)
	}
}

func TestACallWithoutAResponseIsRepeatedOnlyWhereTheServerSaysThatItMay(t *testing.T) {
	var tools toolTable
	tools.learn(json.RawMessage(`{"tools":[{"name":"reads","annotations":{"readOnlyHint":true}},{"name":"sets","annotations":{"idempotentHint":true}},{"name":"sends","annotations":{"idempotentHint":false}},{"name":"plain"}]}`), nil)
	for name, want := range map[string]bool{"reads": true, "sets": true, "sends": false, "plain": false, "unknown": false} {
		if got := tools.repeats(&mcp.Request{Method: methodToolsCall, Name: name}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if !tools.repeats(&mcp.Request{Method: methodPromptsGet}) {
		t.Error("a prompt is not read again")
	}
}
