//go:build unix

package doctor_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
)

func TestDoctorNamesRefusalsOfTheSandbox(t *testing.T) {
	for _, refused := range []string{"", "server s: was refused to look up a.example; to allow it: junction server sandbox allow s --host a.example"} {
		p := &doctor.Report{}
		p.Pass("start", "")
		p.AddRefusals(refused)
		p.Fail("tools", "fetch failed", "report it")
		p.AddRefusals(refused)
		want := "report it"
		if refused != "" {
			want = "this may be why: " + refused + "; else report it"
		}
		if p.Links[0].Remedy != "" || p.Links[1].Remedy != want {
			t.Errorf("%+v", p.Links)
		}
	}
}
