package chat_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/policy"
)

func TestAChatAsksWhereAGatewayWouldHide(t *testing.T) {
	p, err := policy.Compile([]policy.Rule{
		{Name: "people", Effect: policy.Allow, Tool: "find", When: "args.all", Redact: &policy.Redact{Results: []string{"/salary"}}},
		{Name: "all", Effect: policy.Allow},
	}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = chat.AskInsteadOfRedact(p); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]policy.Effect{`{"all":true}`: policy.Ask, `{"all":false}`: policy.Allow} {
		d := p.Decide(t.Context(), policy.Input{Tool: "find", Arguments: []byte(arguments)})
		if d.Effect != want || want == policy.Ask && !strings.Contains(d.Reason, "hides /salary") {
			t.Errorf("%s: %s, %s", arguments, d.Effect, d.Reason)
		}
	}
}
