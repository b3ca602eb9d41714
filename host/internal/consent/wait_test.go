package consent

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/policy"
)

// A person who thinks about one call does not hold up one whose time is over.
func TestEndedCallsDoNotWaitForTheUser(t *testing.T) {
	rules := compiled(t, policy.Ask)
	d := New(func() *policy.Policy { return rules }, func(guard.Source) bool { return true })
	call := Call{Input: policy.Input{Server: "files", Tool: "write", Arguments: json.RawMessage(`{}`)}, Definitions: func() []guard.Source { return nil }}
	asked, answer := make(chan bool), make(chan string)
	go d.Consider(t.Context(), call, func(*Judgement) string { close(asked); return <-answer })
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan *Judgement, 1)
	go func() { done <- d.Consider(ctx, call, func(*Judgement) string { return "" }) }()
	select {
	case j := <-done:
		if j.Refusal == "" || j.Asked {
			t.Errorf("it may run: %+v", j)
		}
	case <-time.After(5 * time.Second): // only where it fails
		t.Error("a call that was ended waits for the answer about another one")
	}
	answer <- "no"
}
