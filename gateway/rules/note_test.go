package rules_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// notes are the notes of a request.
type notes []string

func (n *notes) Note(kind string, note any) {
	text, err := json.Marshal(note)
	if err != nil {
		panic(err)
	}
	*n = append(*n, kind+" "+string(text))
}

func TestObserversSeeDecisionsAndRules(t *testing.T) {
	var calls atomic.Int32
	h := rules.Middleware(rules.Options{Server: "files", Policy: compiled(t, policy.Allow, policy.Rule{Name: "no writes", Tool: "write", When: `args.Path == "x"`, Effect: policy.Deny, Reason: "it is mine"})})(files(&calls))
	var n notes
	for _, tool := range []string{"read", "write"} {
		req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"`+tool+`","arguments":{"Path":"x"}}`))
		if _, err := h.Handle(mcp.WithNoteObserver(context.Background(), &n), req); err != nil {
			t.Fatal(err)
		}
	}
	want := notes{
		`policy {"server":"files","effect":"allow","said":"allow","rule":"\"default\" (built-in)","reason":"no rule forbids it"}`,
		`policy {"server":"files","effect":"deny","said":"deny","rule":"\"no writes\"","reason":"it is mine"}`,
	}
	if !slices.Equal(n, want) {
		t.Errorf("got %s", n)
	}
}
