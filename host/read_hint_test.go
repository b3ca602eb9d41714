package host

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
)

// TestOnlyToolsWithoutClaimsAreOfferedAsReading lists the tools that a user may declare to be
// read-only: those whose server claims nothing about it.
func TestOnlyToolsWithoutClaimsAreOfferedAsReading(t *testing.T) {
	for _, test := range []struct {
		annotations   string
		silent, reads bool
	}{
		{``, true, false},
		{`{"title":"Query"}`, true, false},
		{`{"destructiveHint":false}`, true, false}, // some servers say so about each tool
		{`{"destructiveHint":true}`, false, false},
		{`{"readOnlyHint":true,"destructiveHint":true}`, false, true}, // the specification gives destructiveHint no meaning then
		{`{"readOnlyHint":false}`, false, false},
		{`{"readOnlyHint":`, false, false},
	} {
		h, err := New(Options{Model: scripted.New(scripted.Say("done"))})
		if err != nil {
			t.Fatal(err)
		}
		item := h.item(guard.Definition{Kind: guard.Tool, Server: "s", Name: "t", Annotations: json.RawMessage(test.annotations)}, guard.Verdict{})
		if item.Silent != test.silent || item.Reads != test.reads {
			t.Errorf("%s: silent %v, reads %v; want %v, %v", test.annotations, item.Silent, item.Reads, test.silent, test.reads)
		}
		h.Close()
	}
}
