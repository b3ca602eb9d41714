package revision

import (
	"strings"
	"testing"
)

// Each client gets the failure of a form, and none an empty result.
func TestAPanicOfALoweringIsRepeated(t *testing.T) {
	old := table[len(table)-1].lowerings
	defer func() { table[len(table)-1].lowerings = old }()
	table[len(table)-1].lowerings = []lowering{func([]byte, string) []byte { panic("fault") }}
	kept := Keep("tools/list", []byte(`{"tools":[]}`))
	ask := func() (out []byte, failed bool) {
		defer func() { failed = recover() != nil }()
		out, err := Oldest().AppendResult(nil, "tools/list", Envelope{}, Body{JSON: kept.JSON, Kept: kept})
		return out, err != nil
	}
	_, first := ask()
	out, second := ask()
	if first && !second && !strings.Contains(string(out), "tools") {
		t.Errorf("the first client gets an error, and all others the result %q", out)
	}
}
