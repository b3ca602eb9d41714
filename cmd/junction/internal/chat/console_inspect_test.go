package chat_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/console/inspect"
)

func TestALoginIsFollowedStepByStepAtThePage(t *testing.T) {
	clitest.NoState(t)
	site := clitest.NewTokenSite(t)
	p := clitest.InspectorWith(t, `{"mcpServers":{"site":{"url":"`+site.URL+`/mcp"}}}`)
	path := p.Begin(inspect.Server{Name: "site"})
	refused := p.Until(path, "state", "state", "failed")
	if got := clitest.Member(refused, "fault.login") + " " + clitest.Member(refused, "canLogin") + " " + clitest.Member(refused, "fault.remedy"); got != "true true junction login site" {
		t.Errorf("it is refused: %s", refused)
	}
	p.Post(path+"/login", nil)
	page := clitest.Member(p.Until(path, "login", "state", "open"), "url")
	if !strings.HasPrefix(page, site.URL+"/authorize?") {
		t.Fatalf("the page is %s", page)
	}
	response, err := http.Get(page) // whose redirects lead to the loopback address
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	if got := clitest.Member(p.Until(path, "login", "state", "done"), "detail"); !strings.Contains(got, "(read), renewed by itself") {
		t.Errorf("the login: %s", got)
	}
	p.Until(path, "state", "state", "connected")
	var steps []string
	for _, line := range p.All(path) {
		name, data, _ := strings.Cut(line, " ")
		if x := json.RawMessage(data); name == "http" && clitest.Member(x, "purpose") == "authorization" {
			steps = append(steps, clitest.Member(x, "step")+" "+clitest.Member(x, "status"))
		}
		if strings.Contains(line, "secret-token") || strings.Contains(line, "secret-refresh") || strings.Contains(line, "code1") {
			t.Errorf("a secret is shown: %s", line)
		}
	}
	if got, want := strings.Join(steps, ", "), "discovery of the resource 200, discovery of the authorization server 200, registration 201, token 200"; !strings.HasSuffix(got, want) {
		t.Errorf("the steps are %s, want at the end %s", got, want)
	}
	if got := p.Until(path, "http", "step", "token"); clitest.Member(got, "form.grant_type") != "authorization_code" || clitest.Member(got, "form.code") != "***" || clitest.Member(got, "answer.access_token") != "***" || clitest.Member(got, "answer.expires_in") != "3600" {
		t.Errorf("the request for a token is shown as %s", got)
	}
	if got := p.Until(path, "http", "requestHeaders.Authorization", "Bearer"); clitest.Member(got, "requestHeaders.Authorization") != "Bearer ***" {
		t.Errorf("the token is shown: %s", got)
	}
}

func TestALoginThatFailsSaysAtWhichStepAndWhy(t *testing.T) {
	clitest.NoState(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	say := func(status int, v map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/resource", say(http.StatusOK, map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", say(http.StatusOK, map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "registration_endpoint": server.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}))
	mux.HandleFunc("/register", say(http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata", "error_description": "no loopback addresses"}))
	p := clitest.InspectorWith(t, "")
	path := p.Begin(inspect.Server{URL: server.URL + "/mcp"})
	p.Until(path, "state", "state", "failed")
	p.Post(path+"/login", map[string]any{"scopes": []string{"read"}})
	if got := p.Until(path, "login", "state", "failed"); !strings.Contains(clitest.Member(got, "cause"), "no loopback addresses") || clitest.Member(got, "remedy") == "" {
		t.Errorf("the login failed: %s", got)
	}
	if got := p.Until(path, "http", "step", "registration"); clitest.Member(got, "failed") != "invalid_client_metadata: no loopback addresses" || clitest.Member(got, "status") != "400" {
		t.Errorf("the registration: %s", got)
	}
}
