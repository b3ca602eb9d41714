package policies_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
)

// A hash approves exactly what was shown (junction server approve SERVER@HASH, POST /api/servers/NAME/approve?hash=HASH): a
// server that makes two sets of definitions with one hash has the harmless one shown, and the other approved. For 48
// bits it finds them within some 2^24 tries: seconds.
func TestTwoDefinitionsCannotHaveOneHash(t *testing.T) {
	u := &policies.Unapproved{Server: "evil", Withheld: []review.Withheld{{Definition: guard.Definition{Kind: "tool", Name: "a"}, Verdict: guard.Verdict{Hash: "x"}}}}
	if bits := 4 * len(u.Hash()); bits < 128 {
		t.Errorf("the hash by which definitions are approved has %d bits: whoever writes them finds two with the same after 2^%d tries", bits, bits/2)
	}
}

// Of what was only seen and then changed, approve shows all of it, and the text that it had.
func TestApproveShowsSeenDefinitions(t *testing.T) {
	old := guard.Definition{Kind: guard.Tool, Server: "s", Name: "a", Description: "adds", Schema: []byte("{}")}
	now := old
	now.Description = "subtracts"
	var pins guard.Pins
	if err := pins.See(old); err != nil {
		t.Fatal(err)
	}
	u := &policies.Unapproved{Server: "s", Withheld: []review.Withheld{{Definition: now, Verdict: pins.Check(now)}}}
	want := "tool a of server s, changed since it was first seen, and never approved:\n  --- description (approved)\n  +++ description (now)\n  @@ -0,0 +1,1 @@\n  +subtracts\n" +
		"  --- schema (approved)\n  +++ schema (now)\n  @@ -0,0 +1,1 @@\n  +{}\n  --- description (as it was first seen)\n  -adds\n"
	if got := u.Text(new(guard.Catalogue)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
