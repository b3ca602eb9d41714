package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClientLogsInOnceAndStaysLoggedIn(t *testing.T) {
	s := newSite(t)
	now := time.Now()
	c := s.client(&now)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
				t.Errorf("%d, %v", status, err)
			}
		})
	}
	all.Wait()
	if s.visits != 1 || s.registers != 1 || s.refreshes != 0 {
		t.Errorf("%d visits, %d registrations, %d refreshes", s.visits, s.registers, s.refreshes)
	}
	for range 10 { // the refresh token changes each time
		now = now.Add(time.Hour - ahead)
		for range 20 {
			all.Go(func() {
				if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		all.Wait()
	}
	if s.visits != 1 || s.refreshes != 10 {
		t.Errorf("%d visits, %d refreshes", s.visits, s.refreshes)
	}
	s.mu.Lock()
	s.tokens, s.refresh = map[string]string{}, "" // the tokens were revoked
	s.mu.Unlock()
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil || s.visits != 2 {
		t.Errorf("after they were revoked: %d, %v, %d visits", status, err, s.visits)
	}
}

func TestFailedLoginsFailAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := errors.New("the window was closed")
		c := New(Options{})
		g := c.accessTo(&url.URL{Scheme: "https", Host: "mcp.example"})
		unlock, err := g.lock(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := c.authorize(t.Context(), g, nil, challenge{}, false); !errors.Is(err, closed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		g.ended("", closed)
		unlock()
		all.Wait()
		if unlock, err = g.lock(t.Context(), ""); err != nil {
			t.Errorf("who comes later: %v", err)
		}
		unlock()
	})
}

func TestATokenThatIsRefusedAtOnceIsNotAskedForAgain(t *testing.T) {
	s := newSite(t)
	s.answer = func(url.Values) map[string]any { return map[string]any{"access_token": "of another audience"} }
	if status, err := s.get(s.client(nil), "/mcp"); status != http.StatusUnauthorized || err != nil || s.visits != 1 {
		t.Errorf("%d, %v, %d visits", status, err, s.visits)
	}
	s = newSite(t)
	s.needs = "admin"
	if status, err := s.get(s.client(nil), "/mcp"); status != http.StatusOK || err != nil || s.visits != 2 || s.tokens["access4"] != "" && s.tokens["access4"] != "read admin" {
		t.Errorf("with more rights: %d, %v, %d visits, %v", status, err, s.visits, s.tokens)
	}
	s = newSite(t)
	s.needs = "admin"
	s.back = func(q url.Values) { s.codes[q.Get("code")].Set("scope", "read") } // the scope is never granted
	if status, err := s.get(s.client(nil), "/mcp"); status != http.StatusForbidden || err != nil || s.visits != 1+maxSteps-1 {
		t.Errorf("rights that nobody gets: %d, %v, %d visits", status, err, s.visits)
	}
}

func TestATokenGoesToItsServerOnly(t *testing.T) {
	s, other := newSite(t), newSite(t)
	c := s.client(nil)
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	var sent string
	other.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header.Get("Authorization") })
	tr, err := c.Transport(s.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := tr.RoundTrip(req)
	if err != nil || response.Body.Close() != nil || sent != "" {
		t.Errorf("another origin got %q, %v", sent, err)
	}
}

func TestLoginsNeedABrowser(t *testing.T) {
	s := newSite(t)
	if _, err := s.get(New(Options{}), "/mcp"); !errors.Is(err, ErrLogin) {
		t.Error(err)
	}
}

func TestSuspiciousResponsesAreRefused(t *testing.T) {
	bomb := strings.Repeat("x", maxMetadata)
	for _, test := range []struct {
		name  string
		plant func(s *site)
		want  string
	}{
		{"a login of somebody else", func(s *site) { s.back = func(q url.Values) { q.Set("state", "guessed") } }, "another login (state)"},
		{"no state", func(s *site) { s.back = func(q url.Values) { q.Del("state") } }, "another login (state)"},
		{"the code of another authorization server", func(s *site) { s.back = func(q url.Values) { q.Set("iss", "https://evil.example") } }, "another authorization server"},
		{"an issuer that is nearly the same", func(s *site) { s.back = func(q url.Values) { q.Set("iss", s.URL+"/tenant") } }, "another authorization server"},
		{"an issuer with a slash that its metadata has not", func(s *site) { s.back = func(q url.Values) { q.Set("iss", s.URL+"/") } }, "another authorization server"},
		{"an issuer at another port", func(s *site) { s.back = func(q url.Values) { q.Set("iss", s.URL+"1") } }, "another authorization server"},
		{"no issuer where one was promised", func(s *site) {
			s.issuer = map[string]any{"authorization_response_iss_parameter_supported": true}
			s.back = func(q url.Values) { q.Del("iss") }
		}, "announced that it identifies itself"},
		{"an error of another authorization server", func(s *site) {
			s.back = func(q url.Values) { q.Set("iss", "https://evil.example"); q.Set("error", "click here") }
		}, "another authorization server"},
		{"two codes", func(s *site) { s.back = func(q url.Values) { q.Add("code", "injected") } }, "code twice"},
		{"a code that was injected", func(s *site) { s.back = func(q url.Values) { q.Set("code", "injected") } }, "invalid_grant"},
		{"no proof of who asked for the code", func(s *site) { s.issuer = map[string]any{"code_challenge_methods_supported": nil} }, "another client could use the code"},
		{"a proof that everybody reads", func(s *site) { s.issuer = map[string]any{"code_challenge_methods_supported": []string{"plain"}} }, "another client could use the code"},
		{"metadata of another issuer", func(s *site) { s.issuer = map[string]any{"issuer": "https://evil.example"} }, "it names the issuer"},
		{"metadata of another resource", func(s *site) { s.resource = map[string]any{"resource": "https://evil.example/mcp"} }, "not of " + "http"},
		{"metadata of a part of the name", func(s *site) { s.resource = map[string]any{"resource": s.URL + "/m"} }, "not of http"},
		{"a page that is a script", func(s *site) { s.issuer = map[string]any{"authorization_endpoint": "javascript:alert(1)"} }, "is not a web page"},
		{"a page that is a file", func(s *site) { s.issuer = map[string]any{"authorization_endpoint": "file:///etc/passwd"} }, "is not a web page"},
		{"tokens over http", func(s *site) { s.issuer = map[string]any{"token_endpoint": "http://tokens.example/"} }, "is not encrypted"},
		{"metadata without an end", func(s *site) { s.issuer = map[string]any{"bomb": bomb} }, "has more than"},
		{"an authorization server on the network around", func(s *site) {
			s.resource = map[string]any{"authorization_servers": []string{"https://169.254.169.254"}}
		}, "which is not on the internet"},
		{"a token of another kind", func(s *site) {
			s.answer = func(url.Values) map[string]any { return map[string]any{"token_type": "mac"} }
		}, "sends only Bearer"},
		{"no token", func(s *site) {
			s.answer = func(url.Values) map[string]any { return map[string]any{"access_token": ""} }
		}, "no access_token"},
		{"a text that a terminal would obey", func(s *site) { s.back = func(q url.Values) { q.Set("error", "\x1b]0;x\a") } }, `responded \x1b]0;x\x07`},
		{"a challenge that points to a private address", func(s *site) { s.challenge = `Bearer resource_metadata="https://10.0.0.1/x"` }, "which is not on the internet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			test.plant(s)
			status, err := s.get(s.client(nil), "/mcp")
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%d, %v, want %q", status, err, test.want)
			}
			if len(s.tokens) > 0 && s.answer == nil {
				t.Errorf("a token was given: %v", s.tokens)
			}
		})
	}
}

func TestAServerSomewhereElseNamesNothingOnThisMachine(t *testing.T) {
	reached := false
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer here.Close()
	for _, to := range []string{here.URL, strings.Replace(here.URL, "127.0.0.1", "localhost", 1), strings.Replace(here.URL, "http:", "https:", 1), "http://example.com/"} {
		response, err := Guarded(nil).Get(to)
		if err == nil {
			response.Body.Close()
			t.Errorf("%s was reached", to)
		}
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, here.URL, http.StatusFound) }))
	defer elsewhere.Close()
	response, err := Guarded(func(string) bool { return true }).Get(elsewhere.URL)
	if err == nil {
		response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "redirects to another origin") || reached {
		t.Errorf("a redirect: %v, reached %v", err, reached)
	}
	u := &url.URL{Scheme: "http", Host: "mcp.example", Path: "/mcp"}
	c := New(Options{Visit: func(context.Context, string) (*Visit, error) { return nil, errors.New("somebody logged in") }})
	if _, err := c.authorize(t.Context(), c.accessTo(u), nil, challenge{}, false); err == nil || !strings.Contains(err.Error(), "does not use https") {
		t.Errorf("a server without encryption: %v", err)
	}
}
