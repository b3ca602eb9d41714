package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// asFollower, in the environment, makes the test binary be a browser: it follows the page that it is sent to.
const asFollower = "JUNCTION_TEST_FOLLOWER"

func follow(page string) int {
	response, err := http.Get(page)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// withFollower gives the commands a browser.
func withFollower(t *testing.T) {
	t.Helper()
	clitest.Setenv(t, "JUNCTION_BROWSER", self(t)[0])
	clitest.Setenv(t, asFollower, "1")
}

func TestLoginAndLogout(t *testing.T) {
	clitest.NoState(t)
	withFollower(t)
	s := clitest.NewTokenSite(t)
	at := s.URL + "/mcp"
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers":{"site":{"url":"` + at + `"},"local":{"command":"x"}}}`})
	named := func(args ...string) []string { return append(args, "--config", "servers.json") }
	for _, step := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"nobody is logged in", []string{"whoami"}, cli.ExitOK, "You are not logged in at any server; to log in: junction login SERVER\n", ""},
		{"nobody is logged in, in JSON", []string{"whoami", "--json"}, cli.ExitOK, `{"logins":[]}`, ""},
		{"not there either", named("whoami", "site"), cli.ExitConnection, "", "you are not logged in at site; run junction login site"},
		{"a call says what to do", []string{"call", at, "add", "a=1", "b=2"}, cli.ExitConnection, "", "sign in: junction login " + at},
		{"and names the server as the person does", named("call", "site", "add", "a=1", "b=2"), cli.ExitConnection, "", "sign in: junction login site"},
		{"there is nothing to log out of", []string{"logout", at}, cli.ExitOK, "You are not logged in at " + at + ".\n", ""},
		{"the login", named("login", "site", "--scope", "more"), cli.ExitOK, "Logged in: " + at + " at " + s.URL + " (read more), renewed by itself\n", "Your browser should show the login of "},
		{"a call", []string{"call", at, "add", "a=1", "b=2"}, cli.ExitOK, `{"sum":3}`, ""},
		{"where somebody is logged in", []string{"whoami"}, cli.ExitOK, at + " at " + s.URL + " (read more), renewed by itself", ""},
		{"at a server", named("whoami", "site", "--json"), cli.ExitOK, `"Issuer":"` + s.URL + `","ClientID":"registered","Scopes":["read","more"]`, ""},
		{"the logout", []string{"logout", at}, cli.ExitOK, "Logged out: " + s.URL + " revoked it.\n", ""},
		{"after it", named("whoami", "site"), cli.ExitConnection, "", "you are not logged in at site"},
		{"a call after it", named("call", "site", "add", "a=1", "b=2"), cli.ExitConnection, "", "sign in: junction login site"},
		{"as a client that is registered", []string{"login", at, "--client-id", "mine"}, cli.ExitOK, "Logged in: ", ""},
		{"a program is not logged in at", named("login", "local"), cli.ExitUsage, "", "local has no URL"},
		{"a server has to be named", []string{"login"}, cli.ExitUsage, "", "expected one SERVER"},
		{"one server at a time", []string{"logout", at, at}, cli.ExitUsage, "", "expected one SERVER"},
		{"a server that there is not", named("login", "sight"), cli.ExitConnection, "", `no server is called "sight"`},
	} {
		got := runs(t, "", step.args...)
		if got.expect(t, step.code, step.stdout, step.stderr); t.Failed() {
			t.Fatalf("%s: junction %s", step.name, strings.Join(step.args, " "))
		}
		if strings.Contains(got.stdout+got.stderr, "secret-") {
			t.Errorf("%s: a secret is shown: %s%s", step.name, got.stdout, got.stderr)
		}
	}
	if got := fmt.Sprint(s.Clients, s.Registers, s.Revoked); got != "[registered mine] 1 [secret-refresh]" {
		t.Errorf("clients, registrations and what was revoked: %s", got)
	}
}

// Whoever asks for more than they have learns that, rather than is sent to log in once more.
func TestScopesThatAreAskedForAndNotGivenAreAnError(t *testing.T) {
	clitest.NoState(t)
	withFollower(t)
	s := clitest.NewTokenSite(t)
	s.Withholds = "write"
	at := s.URL + "/mcp"
	for _, test := range []struct {
		scopes string
		code   int
		given  string
		stderr string
	}{
		{"use,write", cli.ExitConnection, "(read use)", s.URL + " did not grant write, as your user there does not have it; ask the operator of the server"},
		{"use write", cli.ExitConnection, "(read use)", "did not grant write, as"},
		{"use,offline_access", cli.ExitOK, "(read use offline_access)", ""},
	} {
		got := runs(t, "", "login", at, "--scope", test.scopes)
		got.expect(t, test.code, "Logged in: "+at+" at "+s.URL+" "+test.given, test.stderr)
		runs(t, "", "call", at, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "") // with the scopes that were given
	}
	s.Withholds = "offline_access" // a refresh token is all that says that it was given
	runs(t, "", "login", at, "--scope", "offline_access").expect(t, cli.ExitOK, "(read), renewed by itself", "")
}

func TestSettingsOfAnOrganization(t *testing.T) {
	clitest.NoState(t)
	s := clitest.NewTokenSite(t)
	clitest.Setenv(t, "PROVIDER_SECRET", "hush")
	clitest.Write(t, map[string]string{"id": "who ada is\n", "servers.json": `{"mcpServers":{"site":{"url":"` + s.URL + `/mcp","oauth":{"clientId":"c","grant":"enterprise",
		"assertion":"id","identityProvider":"` + s.URL + `/provider","identityClientId":"home","identityClientSecret":"${PROVIDER_SECRET}"}}}}`})
	call := []string{"call", "site", "add", "a=1", "b=2", "--config", "servers.json"}
	runs(t, "", call...).expect(t, cli.ExitOK, `{"sum":3}`, "")
	runs(t, "", "logout", "site", "--config", "servers.json").expect(t, cli.ExitOK, "Logged out: ", "")
	clitest.Write(t, map[string]string{"id": "who eve is"})
	runs(t, "", call...).expect(t, cli.ExitConnection, "", "access_denied")
	if len(s.Clients) != 0 {
		t.Errorf("somebody was sent to a page: %v", s.Clients)
	}
}

func TestALoginThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		change         func(s *clitest.TokenSite)
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a server that asks nobody", func(s *clitest.TokenSite) { s.Open = true }, nil, cli.ExitOK, "/mcp needs no login.\n", ""},
		{"a user who does not agree", func(s *clitest.TokenSite) { s.Denies = true }, nil, cli.ExitConnection, "", "access_denied"},
		{"nobody to paste an address", func(*clitest.TokenSite) {}, []string{"--no-browser"}, cli.ExitUsage, "", "this needs a browser or a terminal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.NoState(t)
			withFollower(t)
			s := clitest.NewTokenSite(t)
			test.change(s)
			runs(t, "", append([]string{"login", s.URL + "/mcp"}, test.args...)...).expect(t, test.code, test.stdout, test.stderr)
		})
	}
}

func TestALogoutSaysThatATokenLivesOn(t *testing.T) {
	clitest.NoState(t)
	withFollower(t)
	s := clitest.NewTokenSite(t)
	s.Keeps = true
	runs(t, "", "login", s.URL+"/mcp").expect(t, cli.ExitOK, "Logged in: ", "")
	runs(t, "", "logout", s.URL+"/mcp").expect(t, cli.ExitOK, "Logged out here. "+s.URL+" cannot revoke tokens: the old token works until it expires.\n", "")
}
