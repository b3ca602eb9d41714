package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// An authorized site is an MCP server that wants the tokens of a real authorization server.
type authorizedSite struct {
	url     string // of the server
	issuer  string
	browser string // the log of the pages that the user's browser was sent to
	env     []string
	program string
	sent    *sentToken
}

// A sentToken is the last one that came to a server.
type sentToken struct {
	mu    sync.Mutex
	token string
}

func (s *sentToken) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// note notes the token of a request.
func (s *sentToken) note(r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// user is somebody with a machine of their own, who uses the server at a URL.
func user(t *testing.T, url, issuer string, sent *sentToken) *authorizedSite {
	t.Helper()
	s := &authorizedSite{url: url, issuer: issuer, browser: filepath.Join(t.TempDir(), "pages"), program: junction(t), sent: sent}
	s.env = append(isolated(t), "JUNCTION_BROWSER="+goProgram(t, ".", "./clients/browser"), "BROWSER_LOG="+s.browser)
	return s
}

// protect adds an MCP server to a site that takes the tokens of an authorization server for it. client is what the
// server is there, and asks at a URL, if that is not empty, about each token.
func protect(t *testing.T, mux *http.ServeMux, url, issuer, client, introspection string, o auth.Options) *sentToken {
	t.Helper()
	server := mcp.NewServer("authorized", "1.0.0")
	for _, name := range []string{"echo", "delete_all"} {
		mcp.AddTool(server, name, func(_ context.Context, in struct{ Text string }) (string, error) { return name + ": " + in.Text, nil })
	}
	o.Resource, o.Servers = url, []string{issuer}
	if introspection == "" {
		o.Verifier = auth.JWT(auth.JWTOptions{Issuer: issuer, HTTP: http.DefaultClient})
	} else {
		o.Verifier = auth.Introspection(auth.IntrospectionOptions{Issuer: issuer, URL: introspection,
			ClientID: client, Secret: "the secret of the server", HTTP: http.DefaultClient, Fresh: time.Nanosecond})
	}
	guard, err := auth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	scoped := middleware.ToolScopes(map[string][]string{"delete_*": {"admin"}})(server)
	sent := &sentToken{}
	h := streamable.HandlerWith(scoped, streamable.Options{Principal: guard.Principal, Challenge: guard.Challenge})
	mux.HandleFunc(strings.TrimPrefix(guard.MetadataPath(), "/.well-known/oauth-protected-resource"), func(w http.ResponseWriter, r *http.Request) {
		sent.note(r)
		h.ServeHTTP(w, r)
	})
	mux.Handle(guard.MetadataPath(), guard.Metadata())
	return sent
}

// authorizedServer starts both. Access tokens last ttl seconds. more is added to the authorization server's environment.
func authorizedServer(t *testing.T, ttl, format string, o auth.Options, more ...string) *authorizedSite {
	t.Helper()
	address := freeAddress(t)
	serving(t, append(nodeEnv(t), more...), address, append(nodeScript(t, "oauth", "servers/oidc/provider.mjs"), address, ttl, format)...)
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	issuer, introspection := "http://"+address, ""
	if format != "jwt" {
		introspection = issuer + "/token/introspection"
	}
	sent := protect(t, mux, site.URL+"/mcp", issuer, "server", introspection, o)
	return user(t, site.URL+"/mcp", issuer, sent)
}

// visits is how often the browser was sent to a page.
func (s *authorizedSite) visits(t *testing.T) int {
	t.Helper()
	pages, err := os.ReadFile(s.browser)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(pages), "\n")
}

// run runs a junction command, which has to end well.
func (s *authorizedSite) run(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, s.env, append([]string{s.program}, args...)...)
}

// fails runs one that has to fail, and say why.
func (s *authorizedSite) fails(t *testing.T, want string, args ...string) {
	t.Helper()
	out, log, err := tryRun(t, s.env, append([]string{s.program}, args...)...)
	if err == nil || !strings.Contains(out+log, want) {
		t.Errorf("junction %s: %v, %s%s, want %q", strings.Join(args, " "), err, out, log, want)
	}
}

func TestLoginAtARealAuthorizationServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format string
		o      auth.Options
	}{
		"signed tokens":               {"jwt", auth.Options{Scopes: []string{"read"}}},
		"tokens that are asked about": {"opaque", auth.Options{Scopes: []string{"read"}}},
		"tokens that are bound":       {"jwt", auth.Options{Scopes: []string{"read"}, Proofs: auth.ProofsNeeded}},
		"proofs with nonces":          {"jwt", auth.Options{Scopes: []string{"read"}, Proofs: auth.ProofsWithNonce}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authorizedServer(t, "3600", test.format, test.o)
			s.logsIn(t)
		})
	}
}

// logsIn goes through all that a user does who logs in, needs more rights, and logs out.
func (s *authorizedSite) logsIn(t *testing.T) {
	t.Helper()
	s.fails(t, "sign in: junction login "+s.url, "tools", s.url)
	if out := s.run(t, "login", s.url); !strings.Contains(out, "Logged in: "+s.url+" at "+s.issuer+" (") || !strings.Contains(out, "read") || !strings.Contains(out, "), renewed by itself") {
		t.Errorf("login: %s", out)
	}
	if out := s.run(t, "tools", s.url); !strings.Contains(out, "echo") || strings.Contains(out, "delete_all") {
		t.Errorf("tools: %s", out)
	}
	if out := s.run(t, "call", s.url, "echo", "Text=hello"); !strings.Contains(out, "echo: hello") {
		t.Errorf("call: %s", out)
	}
	if out := s.run(t, "whoami"); !strings.Contains(out, s.issuer) {
		t.Errorf("whoami: %s", out)
	}
	s.fails(t, "more rights are needed: junction login "+s.url+" --scope admin", "call", s.url, "delete_all", "Text=hello")
	s.run(t, "login", s.url, "--scope", "admin")
	if out := s.run(t, "call", s.url, "delete_all", "Text=hello"); !strings.Contains(out, "delete_all: hello") {
		t.Errorf("with more rights: %s", out)
	}
	if out := s.run(t, "logout", s.url); !strings.Contains(out, s.issuer+" revoked it") {
		t.Errorf("logout: %s", out)
	}
	s.fails(t, "sign in: junction login "+s.url, "tools", s.url)
	if n := s.visits(t); n != 2 {
		t.Errorf("the browser was opened %d times", n)
	}
}

// counts are what the authorization server did.
func (s *authorizedSite) counts(t *testing.T) (c struct{ Asked, Grants, Refreshes, Revoked int }) {
	t.Helper()
	response, err := http.Get(s.issuer + "/counts")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// numberOf is a number that the environment may raise: how long a test goes on.
func numberOf(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// The authorization server ends the login when it sees a refresh token twice: then a call would fail, or a browser
// would be opened again. LOGIN_EXPIRIES=200 is the whole of it.
func TestProcessesAndAGatewayShareALogin(t *testing.T) {
	t.Parallel()
	expiries := numberOf(t, "LOGIN_EXPIRIES", 12)
	s := authorizedServer(t, "1", "jwt", auth.Options{Scopes: []string{"read"}})
	s.run(t, "login", s.url)

	config := filepath.Join(t.TempDir(), "up.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers":{"site":{"url":"`+s.url+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	serving(t, s.env, address, s.program, "up", "--config", config, "--http", address)
	gateway, err := mcp.Dial(t.Context(), streamable.Client("http://"+address+"/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()

	done := make(chan struct{})
	var all sync.WaitGroup
	calls := make([]int, 3)
	for i := range calls {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if i == 0 {
					if _, err := gateway.CallTool(t.Context(), "site__echo", map[string]string{"Text": "x"}); err != nil {
						t.Errorf("through the gateway: %v", err)
						return
					}
					time.Sleep(20 * time.Millisecond)
				} else if out, log, err := tryRun(t, s.env, s.program, "call", s.url, "echo", "Text=x"); err != nil {
					t.Errorf("junction call: %v, %s%s", err, out, log)
					return
				}
				calls[i]++
			}
		})
	}
	for s.counts(t).Refreshes < expiries && !t.Failed() {
		time.Sleep(200 * time.Millisecond)
	}
	close(done)
	all.Wait()
	c, visits := s.counts(t), s.visits(t)
	t.Logf("%d refreshes, %v calls", c.Refreshes, calls)
	if visits != 1 || c.Revoked != 0 || c.Grants != c.Refreshes+1 || calls[0] == 0 || calls[1] == 0 {
		t.Errorf("%+v, the browser was opened %d times, %v calls", c, visits, calls)
	}
}

// REFRESH_KILLS=200 is the whole of it.
func TestAKillInTheMiddleOfARefreshLosesNoLogin(t *testing.T) {
	t.Parallel()
	kills := numberOf(t, "REFRESH_KILLS", 15)
	const hold = 40 * time.Millisecond // between the end of the old token and the response with the new one
	s := authorizedServer(t, "1", "jwt", auth.Options{Scopes: []string{"read"}}, "HOLD="+strconv.FormatInt(hold.Milliseconds(), 10))
	s.run(t, "login", s.url)
	killed := 0
	for i := range kills {
		time.Sleep(time.Second) // each call has to refresh
		before := s.counts(t).Asked
		cmd := exec.Command(s.program, "call", s.url, "echo", "Text=x")
		cmd.Env = s.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); s.counts(t).Asked == before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no token was asked for within 30 s")
			}
		}
		time.Sleep(time.Duration(i*7) * time.Millisecond % (2 * hold)) // before the response, and while it is stored
		if cmd.Process.Kill() == nil {
			killed++
		}
		_ = cmd.Wait()
		s.run(t, "call", s.url, "echo", "Text=x")
	}
	c, visits := s.counts(t), s.visits(t)
	t.Logf("%d killed, %+v", killed, c)
	if visits != 1 || c.Revoked != 0 || killed < kills/2 {
		t.Errorf("%+v, the browser was opened %d times, %d killed", c, visits, killed)
	}
}
