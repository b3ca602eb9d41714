package up_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

func TestScopesThatNoSettingNamesAreListed(t *testing.T) {
	a, seen := clitest.Asking(t, "")
	x := &up.Access{Scopes: []string{"read"}}
	x.Unnamed([]string{"read"}, "ann")
	if up.SayUnnamed(a, x); seen.String() != "" {
		t.Errorf("said %q", seen)
	}
	x.Unnamed([]string{"read", "write"}, "ann")
	x.Unnamed([]string{"admin"}, "the key of ci")
	up.SayUnnamed(a, x)
	if want := `name "write" (ann), "admin" (the key of ci): logins`; !strings.Contains(seen.String(), want) {
		t.Errorf("said %q, expected %q", seen, want)
	}
	for range up.MaxUnnamed {
		x.Unnamed([]string{"more"}, "ben")
	}
	if up.SayUnnamed(a, x); !strings.Contains(seen.String(), "(ben) and 2 more: logins") {
		t.Errorf("said %q", seen)
	}
}
