package main

import (
	"testing"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
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
