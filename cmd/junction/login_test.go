package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/servers/everything"
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

// A tokenSite is a server that wants tokens, and an authorization server whose every user agrees. Real ones are used in
// the integration layer.
type tokenSite struct {
	*httptest.Server

	mu        sync.Mutex
	open      bool // wants no tokens
	denies    bool
	withholds string // a scope that nobody gets
	keeps     bool   // has no page to revoke tokens at
	clients   []string
	tokens    map[string]string // scopes by token
	codes     map[string]string // scopes by code
	revoked   []string
	registers int

	logins       []string // nonces of logins at the identity provider
	identities   []string // ID tokens that it gave
	identityTime time.Duration
	trusts       string // an authorization server that the provider knows in addition to this one
}

func newTokenSite(t *testing.T) *tokenSite {
	s := &tokenSite{tokens: map[string]string{}, codes: map[string]string{}}
	everything := streamable.Handler(everything.New())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" && s.admits(w, r) {
			everything.ServeHTTP(w, r)
		} else if r.URL.Path != "/mcp" {
			s.authorize(w, r)
		}
	}))
	t.Cleanup(func() { s.Close(); everything.Close() })
	return s
}

func (s *tokenSite) admits(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, good := s.tokens[token]; good || s.open {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

func (s *tokenSite) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	say := func(v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		if s.open {
			http.NotFound(w, r)
			return
		}
		say(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	case "/.well-known/oauth-authorization-server":
		v := map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}}
		if s.keeps {
			delete(v, "revocation_endpoint")
		}
		say(v)
	case "/register":
		s.registers++
		w.WriteHeader(http.StatusCreated)
		say(map[string]any{"client_id": "registered"})
	case "/authorize":
		s.clients = append(s.clients, r.Form.Get("client_id"))
		q := url.Values{"state": {r.Form.Get("state")}, "iss": {s.URL}}
		if s.denies {
			q.Set("error", "access_denied")
		} else {
			code := fmt.Sprintf("code%d", len(s.clients))
			s.codes[code] = strings.Join(slices.DeleteFunc(strings.Fields(r.Form.Get("scope")), func(scope string) bool { return scope == s.withholds }), " ")
			q.Set("code", code)
		}
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/.well-known/oauth-authorization-server/provider":
		say(map[string]any{"issuer": s.URL + "/provider", "token_endpoint": s.URL + "/provider/token", "authorization_endpoint": s.URL + "/provider/authorize", "revocation_endpoint": s.URL + "/provider/revoke"})
	case "/provider/authorize":
		s.logins = append(s.logins, r.Form.Get("nonce"))
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+url.Values{"state": {r.Form.Get("state")}, "code": {"who"}}.Encode(), http.StatusFound)
	case "/provider/revoke":
		s.revoked = append(s.revoked, r.Form.Get("token"))
	case "/provider/token":
		id, secret, _ := r.BasicAuth()
		if id == "home" && secret == "hush" && (r.Form.Get("code") == "who" && r.Form.Get("code_verifier") != "" || r.Form.Get("refresh_token") == "secret-login") {
			claims, _ := json.Marshal(map[string]any{"iss": s.URL + "/provider", "sub": "ada", "aud": "home", "exp": time.Now().Add(s.identityTime).Unix(), "nonce": s.logins[len(s.logins)-1]})
			s.identities = append(s.identities, "secret."+base64.RawURLEncoding.EncodeToString(claims)+".x")
			say(map[string]any{"access_token": "for nothing", "token_type": "Bearer", "refresh_token": "secret-login", "id_token": s.identities[len(s.identities)-1]})
			return
		}
		if id != "home" || secret != "hush" || r.Form.Get("subject_token") != "who ada is" && !slices.Contains(s.identities, r.Form.Get("subject_token")) || r.Form.Get("audience") != s.URL && r.Form.Get("audience") != s.trusts {
			w.WriteHeader(http.StatusBadRequest)
			say(map[string]any{"error": "access_denied"})
			return
		}
		say(map[string]any{"access_token": "ada may", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"})
	case "/token":
		if r.Form.Get("assertion") == "ada may" {
			s.tokens["secret-token-of-ada"] = "read"
			say(map[string]any{"access_token": "secret-token-of-ada", "token_type": "Bearer", "expires_in": 3600})
			return
		}
		scope, known := s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		if !known {
			w.WriteHeader(http.StatusBadRequest)
			say(map[string]any{"error": "invalid_grant"})
			return
		}
		token := fmt.Sprintf("secret-token-%d", len(s.clients))
		s.tokens[token] = scope
		say(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "secret-refresh", "scope": scope})
	case "/revoke":
		s.revoked = append(s.revoked, r.Form.Get("token"))
		clear(s.tokens)
	default:
		http.NotFound(w, r)
	}
}

// withFollower gives the commands a browser.
func withFollower(t *testing.T) {
	t.Helper()
	setenv(t, "JUNCTION_BROWSER", self(t)[0])
	setenv(t, asFollower, "1")
}

func TestSomebodyLogsInAndOut(t *testing.T) {
	noState(t)
	withFollower(t)
	s := newTokenSite(t)
	at := s.URL + "/mcp"
	write(t, map[string]string{"servers.json": `{"mcpServers":{"site":{"url":"` + at + `"},"local":{"command":"x"}}}`})
	named := func(args ...string) []string { return append(args, "--config", "servers.json") }
	for _, step := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"nobody is logged in", []string{"whoami"}, cli.ExitOK, "You are logged in nowhere; junction login SERVER does it.\n", ""},
		{"nobody is logged in, in JSON", []string{"whoami", "--json"}, cli.ExitOK, `{"logins":[]}`, ""},
		{"not there either", named("whoami", "site"), cli.ExitConnection, "", "you are not logged in at site; junction login site does it"},
		{"a call says what to do", []string{"call", at, "add", "a=1", "b=2"}, cli.ExitConnection, "", "sign in: junction login " + at},
		{"and names the server as the person does", named("call", "site", "add", "a=1", "b=2"), cli.ExitConnection, "", "sign in: junction login site"},
		{"there is nothing to log out of", []string{"logout", at}, cli.ExitOK, "You are not logged in at " + at + ".\n", ""},
		{"the login", named("login", "site", "--scope", "more"), cli.ExitOK, "Logged in: " + at + " at " + s.URL + " (read more), renewed by itself\n", "Your browser is to show the login of "},
		{"a call", []string{"call", at, "add", "a=1", "b=2"}, cli.ExitOK, `{"sum":3}`, ""},
		{"where somebody is logged in", []string{"whoami"}, cli.ExitOK, at + " at " + s.URL + " (read more), renewed by itself", ""},
		{"at a server", named("whoami", "site", "--json"), cli.ExitOK, `"Issuer":"` + s.URL + `","ClientID":"registered","Scopes":["read","more"]`, ""},
		{"the logout", []string{"logout", at}, cli.ExitOK, "Logged out: " + s.URL + " revoked it.\n", ""},
		{"after it", named("whoami", "site"), cli.ExitConnection, "", "you are not logged in at site"},
		{"a call after it", named("call", "site", "add", "a=1", "b=2"), cli.ExitConnection, "", "sign in: junction login site"},
		{"as a client that is registered", []string{"login", at, "--client-id", "mine"}, cli.ExitOK, "Logged in: ", ""},
		{"a program is not logged in at", named("login", "local"), cli.ExitUsage, "", "local is not reached by a URL"},
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
	if got := fmt.Sprint(s.clients, s.registers, s.revoked); got != "[registered mine] 1 [secret-refresh]" {
		t.Errorf("clients, registrations and what was revoked: %s", got)
	}
}

// Whoever asks for more than they have learns that, rather than is sent to log in once more.
func TestScopesThatAreAskedForAndNotGivenAreAnError(t *testing.T) {
	noState(t)
	withFollower(t)
	s := newTokenSite(t)
	s.withholds = "write"
	at := s.URL + "/mcp"
	for _, test := range []struct {
		scopes string
		code   int
		given  string
		stderr string
	}{
		{"use,write", cli.ExitConnection, "(read use)", s.URL + " did not give you write, which you asked for: your user there does not have it; ask whoever runs the server"},
		{"use write", cli.ExitConnection, "(read use)", "did not give you write, which"},
		{"use,offline_access", cli.ExitOK, "(read use offline_access)", ""},
	} {
		got := runs(t, "", "login", at, "--scope", test.scopes)
		got.expect(t, test.code, "Logged in: "+at+" at "+s.URL+" "+test.given, test.stderr)
		runs(t, "", "call", at, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "") // with the scopes that were given
	}
	s.withholds = "offline_access" // a refresh token is all that says that it was given
	runs(t, "", "login", at, "--scope", "offline_access").expect(t, cli.ExitOK, "(read), renewed by itself", "")
}

func TestAnOrganizationSaysWhatItsUsersMayUse(t *testing.T) {
	noState(t)
	s := newTokenSite(t)
	setenv(t, "PROVIDER_SECRET", "hush")
	write(t, map[string]string{"id": "who ada is\n", "servers.json": `{"mcpServers":{"site":{"url":"` + s.URL + `/mcp","oauth":{"clientId":"c","grant":"enterprise",
		"assertion":"id","identityProvider":"` + s.URL + `/provider","identityClientId":"home","identityClientSecret":"${PROVIDER_SECRET}"}}}}`})
	call := []string{"call", "site", "add", "a=1", "b=2", "--config", "servers.json"}
	runs(t, "", call...).expect(t, cli.ExitOK, `{"sum":3}`, "")
	runs(t, "", "logout", "site", "--config", "servers.json").expect(t, cli.ExitOK, "Logged out: ", "")
	write(t, map[string]string{"id": "who eve is"})
	runs(t, "", call...).expect(t, cli.ExitConnection, "", "access_denied")
	if len(s.clients) != 0 {
		t.Errorf("somebody was sent to a page: %v", s.clients)
	}
}

func TestALoginThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		change         func(s *tokenSite)
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a server that asks nobody", func(s *tokenSite) { s.open = true }, nil, cli.ExitOK, "/mcp asks nobody to log in.\n", ""},
		{"a user who does not agree", func(s *tokenSite) { s.denies = true }, nil, cli.ExitConnection, "", "access_denied"},
		{"nobody to paste an address", func(*tokenSite) {}, []string{"--no-browser"}, cli.ExitUsage, "", "there is no browser here, and nobody to ask"},
	} {
		t.Run(test.name, func(t *testing.T) {
			noState(t)
			withFollower(t)
			s := newTokenSite(t)
			test.change(s)
			runs(t, "", append([]string{"login", s.URL + "/mcp"}, test.args...)...).expect(t, test.code, test.stdout, test.stderr)
		})
	}
}

func TestALogoutSaysThatATokenLivesOn(t *testing.T) {
	noState(t)
	withFollower(t)
	s := newTokenSite(t)
	s.keeps = true
	runs(t, "", "login", s.URL+"/mcp").expect(t, cli.ExitOK, "Logged in: ", "")
	runs(t, "", "logout", s.URL+"/mcp").expect(t, cli.ExitOK, "Logged out here. "+s.URL+" revokes nothing: the token it gave is good until it expires.\n", "")
}

// A person who logs in on another machine pastes the address that their browser ends up at.
func TestAnAddressIsPasted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		paste func(back string) string
		fault string // empty: none
	}{
		{"as it is", func(back string) string { return back }, ""},
		{"with blanks around it", func(back string) string { return "  " + back + "  " }, ""},
		{"of another login", func(back string) string { return strings.Replace(back, "state=", "state=x", 1) }, "another login (state)"},
		{"without a code", func(back string) string { return strings.Replace(back, "code=", "cold=", 1) }, "without a code"},
		{"the page itself", func(string) string { return "https://login.example/" }, "another login (state)"},
		{"nothing", func(string) string { return "" }, "another login (state)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			noState(t)
			s := newTokenSite(t)
			in, typed := io.Pipe()
			shown, screen := io.Pipe()
			var said safeBuffer
			a := cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Out: terminal.NewScreen(&said), Screen: terminal.NewScreen(screen)}})
			a.Person = terminal.NewPerson(in, a.Screen)
			ended := make(chan error, 1)
			go func() {
				err := account.Login(t.Context(), a, account.LoginServer{Name: "site", URL: s.URL + "/mcp"}, false)
				_ = screen.Close()
				ended <- err
			}()
			text := make([]byte, 0, 4096)
			for buffer := make([]byte, 512); !strings.Contains(string(text), "Paste that address here:"); {
				n, err := shown.Read(buffer)
				if err != nil {
					t.Fatalf("%v: %s, %v", err, text, <-ended)
				}
				text = append(text, buffer[:n]...)
			}
			go func() { _, _ = io.Copy(io.Discard, shown) }() // ends with the login
			var page string
			for _, word := range strings.Fields(string(text)) {
				if strings.HasPrefix(word, s.URL+"/authorize?") {
					page = word
				}
			}
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			response, err := client.Get(page)
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			response.Body.Close()
			back := response.Header.Get("Location")
			if !strings.HasPrefix(back, "http://127.0.0.1:3118/callback?") {
				t.Errorf("the browser ends up at %s", back)
			}
			fmt.Fprintln(typed, test.paste(back))
			err = <-ended
			_ = typed.Close()
			if closed := a.Launch.Close(); closed != nil {
				t.Error(closed)
			}
			switch {
			case test.fault == "" && (err != nil || !strings.Contains(said.String(), "Logged in: ")):
				t.Errorf("%v, %s", err, said.String())
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("%v, want %q", err, test.fault)
			}
		})
	}
}
