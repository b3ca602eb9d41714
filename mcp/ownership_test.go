package mcp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/mcp"
)

func TestPrincipalKey(t *testing.T) {
	p := func(client string, scopes ...string) *mcp.Principal {
		return &mcp.Principal{Issuer: "i", Subject: "ada", ClientID: client, Scopes: scopes}
	}
	for _, c := range []struct {
		a, b *mcp.Principal
		same bool
	}{
		{p("c", "a", "b"), p("c", "b", "a", "b"), true},
		{p("c", "a"), p("c", "a", "b"), false},
		{p("c", "a"), p("d", "a"), false},
		{nil, nil, true},
		{nil, p(""), false},
	} {
		if same := c.a.Key() == c.b.Key(); same != c.same {
			t.Errorf("%+v and %+v: the same: %t", c.a, c.b, same)
		}
	}
}

func TestOwnershipAllows(t *testing.T) {
	call := mcp.NewRequest("tools/call", []byte(`{"name":"dig"}`))
	owner := mcp.Principal{Issuer: "i", Subject: "ada", ClientID: "c", Scopes: []string{"admin", "read"}}
	call.Principal = &owner
	needs := func(scopes ...string) func(string) []string {
		return func(tool string) []string {
			if tool == "dig" {
				return scopes
			}
			return nil
		}
	}
	part := granted.WithPart(t.Context(), "p")
	decided := mcp.OwnershipOf(granted.Decide(part, "tools/call", "dig", needs("admin")), call)
	undecided := mcp.OwnershipOf(part, call)
	free := mcp.OwnershipOf(granted.Decide(part, "tools/call", "dig", needs()), call)
	unknown := mcp.OwnershipOf(part, mcp.NewRequest("tools/call", []byte(`{"name":"dig"}`)))
	with := func(change func(p *mcp.Principal)) *mcp.Principal {
		p := owner
		change(&p)
		return &p
	}
	scopes := func(all ...string) *mcp.Principal { return with(func(p *mcp.Principal) { p.Scopes = all }) }
	for name, c := range map[string]struct {
		grant mcp.Ownership
		ctx   context.Context
		who   *mcp.Principal
		want  string // "", "lacks" or "another's"
	}{
		"owner":                    {decided, part, &owner, ""},
		"fewer, but enough scopes": {decided, part, scopes("admin"), ""},
		"more scopes":              {decided, part, scopes("x", "admin"), ""},
		"without the scope":        {decided, part, scopes("read"), "lacks"},
		"needs more now":           {decided, granted.Decide(part, "tasks/get", "x", needs("new")), &owner, "lacks"},
		"has what it needs now":    {decided, granted.Decide(part, "tasks/get", "x", needs("new")), scopes("new", "admin"), ""},
		"needs nothing":            {free, part, scopes(), ""},
		"undecided, owner":         {undecided, part, &owner, ""},
		"undecided, fewer scopes":  {undecided, part, scopes("admin"), "lacks"},
		"undecided, more scopes":   {undecided, part, scopes("read", "admin", "x"), ""},
		"another client":           {decided, part, with(func(p *mcp.Principal) { p.ClientID = "d" }), "another's"},
		"another user":             {decided, part, with(func(p *mcp.Principal) { p.Subject = "eve" }), "another's"},
		"another issuer":           {decided, part, with(func(p *mcp.Principal) { p.Issuer = "j" }), "another's"},
		"nobody":                   {decided, part, nil, "another's"},
		"another part":             {decided, granted.WithPart(t.Context(), "q"), &owner, "another's"},
		"no part":                  {decided, t.Context(), &owner, "another's"},
		"unknown owner":            {unknown, part, nil, ""},
		"unknown owner, a user":    {unknown, part, &owner, "another's"},
	} {
		err, got := c.grant.Allows(c.ctx, c.who), ""
		switch {
		case errors.Is(err, mcp.ErrNotOwner):
			got = "another's"
		case errors.As(err, new(*mcp.ScopeError)):
			got = "lacks"
		case err != nil:
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
