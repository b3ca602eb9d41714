package results_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

// A long result can be read only with the scopes of its tool, by the client that called it, and in
// the same profile. Results of one user do not displace those of others.
func TestLongResultsHaveOwners(t *testing.T) {
	h := middleware.ToolScopes(map[string][]string{"text": {"admin"}})(results.Middleware(results.Options{Server: "l", Max: 1_000, Store: results.NewStore(100_000)})(long()))
	as := func(part string, p mcp.Principal, method, params string) (string, error) {
		req := mcp.NewRequest(method, json.RawMessage(params))
		req.Principal = &p
		result, err := h.Handle(granted.WithPart(t.Context(), part), req)
		if err != nil {
			return "", err
		}
		body, err := result.Encoded()
		return string(body), err
	}
	who := func(user, client string, scopes ...string) mcp.Principal {
		return mcp.Principal{Issuer: "i", Subject: user, ClientID: client, Scopes: scopes}
	}
	uri := func(user string) string {
		body, err := as("p", who(user, "c", "admin", "read"), "tools/call", `{"name":"text","arguments":{"lines":500}}`)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(body, `"uri":"`)
		found, _, _ := strings.Cut(after, `"`)
		return `{"uri":"` + found + `"}`
	}
	ada := uri("ada")
	for _, c := range []struct {
		part  string
		who   mcp.Principal
		reads bool
		lacks bool
	}{
		{"p", who("ada", "c", "admin", "read"), true, false},
		{"p", who("ada", "c", "admin"), true, false},
		{"p", who("ada", "c", "read"), false, true},
		{"p", who("ada", "d", "admin", "read"), false, false},
		{"p", who("eve", "c", "admin", "read"), false, false},
		{"q", who("ada", "c", "admin", "read"), false, false},
		{"", who("ada", "c", "admin", "read"), false, false},
	} {
		_, err := as(c.part, c.who, "resources/read", ada)
		if lacks := errors.As(err, new(*mcp.ScopeError)); (err == nil) != c.reads || lacks != c.lacks {
			t.Errorf("%q %+v: %v", c.part, c.who, err)
		}
	}
	for range 20 { // of 15,000 bytes each
		uri("eve")
	}
	if _, err := as("p", who("ada", "c", "admin"), "resources/read", ada); err != nil {
		t.Errorf("eve's results pushed out ada's: %v", err)
	}
}
