package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// One login at the organization's identity provider serves all servers that trust it.
func TestAUserLogsInAtTheirOrganization(t *testing.T) {
	clitest.NoState(t)
	withFollower(t)
	s, other := clitest.NewTokenSite(t), clitest.NewTokenSite(t)
	s.IdentityTime = time.Hour
	clitest.Setenv(t, "PROVIDER_SECRET", "hush")
	entry := func(at string) string {
		return `{"url":"` + at + `/mcp","oauth":{"clientId":"c","grant":"enterprise","identityProvider":"` + s.URL + `/provider","identityClientId":"home","identityClientSecret":"${PROVIDER_SECRET}"}}`
	}
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers":{"site":` + entry(s.URL) + `,"other":` + entry(other.URL) + `}}`})
	with := func(args ...string) outcome { return runs(t, "", append(args, "--config", "servers.json")...) }
	idp := s.URL + "/provider"
	with("call", "site", "add", "a=1", "b=2").expect(t, cli.ExitConnection, "", "sign in: junction login site")
	with("whoami", "site").expect(t, cli.ExitConnection, "", "you are not logged in at "+idp+"; run junction login site")
	with("logout", "site").expect(t, cli.ExitOK, "You are not logged in at "+idp+".", "")
	login := with("login", "site")
	login.expect(t, cli.ExitOK, "Logged in: your identity, at "+idp+", renewed by itself\nA token: "+s.URL+"/mcp at "+s.URL+" (read)", "")
	with("call", "site", "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	with("whoami", "site").expect(t, cli.ExitOK, "your identity, at "+idp, "")
	everywhere := with("whoami")
	everywhere.expect(t, cli.ExitOK, idp, "")
	// The organization decides about each server, and nobody has to log in again for another one.
	with("call", "other", "add", "a=1", "b=2").expect(t, cli.ExitConnection, "", "access_denied")
	s.Trusts = other.URL
	with("call", "other", "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	if len(s.Logins) != 1 || len(s.Identities) != 1 {
		t.Errorf("%d logins, %d ID tokens", len(s.Logins), len(s.Identities))
	}
	logout := with("logout", "site")
	logout.expect(t, cli.ExitOK, "Logged out: "+idp+" revoked it. Tokens of other servers work until they expire.", "")
	if !slices.Contains(s.Revoked, "secret-login") {
		t.Errorf("revoked are %q", s.Revoked)
	}
	with("call", "site", "add", "a=1", "b=2").expect(t, cli.ExitConnection, "", "sign in: junction login site")

	s.IdentityTime = 3 * time.Second // it is renewed for the next token; a busy machine logs in within it
	with("login", "site").expect(t, cli.ExitOK, "Logged in: ", "")
	s.IdentityTime = time.Hour
	clear(s.Tokens)
	waitFor(t, "the ID token is renewed", func() bool {
		with("call", "site", "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
		clear(s.Tokens)
		return len(s.Identities) != 2 || t.Failed()
	})
	if len(s.Logins) != 2 {
		t.Errorf("%d logins", len(s.Logins))
	}
	if shown := fmt.Sprint(login, everywhere, logout); strings.Contains(shown, "secret") {
		t.Errorf("a secret is shown: %s", shown)
	}
}
