package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

func TestStatusShortensManyNames(t *testing.T) {
	for _, test := range []struct {
		status cli.ServerStatus
		want   string
	}{
		{cli.ServerStatus{}, ""},
		{cli.ServerStatus{Running: 1}, "; 1 request running"},
		{cli.ServerStatus{Running: 2, Instances: 3, Most: 16, Users: []string{"ann", "bob", "eve"}}, "; 3 of 16 instances for ann, bob, 1 more; 2 requests running"},
		{cli.ServerStatus{Most: 1}, "; 0 of 1 instance"},
		{cli.ServerStatus{Running: 1, Leaving: 2}, "; 1 request running; 2 requests still running with the earlier configuration"},
	} {
		if got := test.status.LoadText(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.status, got, test.want)
		}
	}
	var renamed []string
	for i := range 20 {
		renamed = append(renamed, fmt.Sprint("name", i))
	}
	if got, want := cli.FirstRenamed(renamed), "; name0; name1; and 18 more names (--json shows all)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := cli.FirstRenamed(renamed[:2]); strings.Contains(got, "more") {
		t.Errorf("of two: %q", got)
	}
}
