package up_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
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

// no verifies no token.
type no struct{}

func (no) Verify(context.Context, string, string) (*auth.Token, error) { return nil, auth.ErrToken }

// A client whose key cannot be checked now gets the error of the key, and other clients that of a
// token.
func TestKeysThatCannotBeCheckedGetTheirOwnError(t *testing.T) {
	for _, fault := range []error{apikey.ErrUnavailable, apikey.ErrNoKey} {
		x := &up.Access{Origins: []string{"https://tools.example"}, Issuers: []string{"https://tools.example"}, Verifier: no{}, Guards: map[string]*auth.Guard{},
			Refused: up.RefusalCounter{Log: slog.New(slog.DiscardHandler)},
			Keys:    func(*http.Request, string) (*mcp.Principal, error) { return nil, fmt.Errorf("a key: %w", fault) }}
		principal, _ := x.At("/mcp")
		r := httptest.NewRequest(http.MethodPost, "https://tools.example/mcp", nil)
		r.Header.Set("Authorization", "Bearer something")
		if _, err := principal(r); errors.Is(err, fault) != (fault == apikey.ErrUnavailable) {
			t.Errorf("%v: %v", fault, err)
		}
	}
}
