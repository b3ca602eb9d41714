package main

import (
	"bytes"
	"testing"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A hash approves exactly what was shown (junction approve SERVER@HASH, POST /api/servers/NAME/approve?hash=HASH): a
// server that makes two sets of definitions with one hash has the harmless one shown, and the other approved. For 48
// bits it finds them within some 2^24 tries: seconds.
func TestTwoDefinitionsCannotHaveOneHash(t *testing.T) {
	u := &unapproved{server: "evil", withheld: []review.Withheld{{Definition: guard.Definition{Kind: "tool", Name: "a"}, Verdict: guard.Verdict{Hash: "x"}}}}
	if bits := 4 * len(u.hash()); bits < 128 {
		t.Errorf("the hash by which definitions are approved has %d bits: whoever writes them finds two with the same after 2^%d tries", bits, bits/2)
	}
}

// Of what was only seen and then changed, approve shows all of it, and the text that it had.
func TestApproveShowsWhatWasSeen(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{Place: placeOf(t), out: terminal.NewScreen(&out), screen: terminal.NewScreen(&errs)}
	old := guard.Definition{Kind: guard.Tool, Server: "s", Name: "a", Description: "adds", Schema: []byte("{}")}
	now := old
	now.Description = "subtracts"
	var pins guard.Pins
	if err := pins.See(old); err != nil {
		t.Fatal(err)
	}
	a.showUnapproved(new(guard.Catalogue), &unapproved{server: "s", withheld: []review.Withheld{{Definition: now, Verdict: pins.Check(now)}}})
	want := "tool a of server s, changed since it was first seen, and never approved:\n  --- description (approved)\n  +++ description (now)\n  @@ -0,0 +1,1 @@\n  +subtracts\n" +
		"  --- schema (approved)\n  +++ schema (now)\n  @@ -0,0 +1,1 @@\n  +{}\n  --- description (as it was first seen)\n  -adds\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
