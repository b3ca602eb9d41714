package clitest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/servers/everything"
)

// A TokenSite is a server that requires tokens, together with an authorization server where every
// user consents. The integration layer tests real authorization servers.
type TokenSite struct {
	*httptest.Server

	mu        sync.Mutex
	Open      bool // whether the server requires no tokens
	Denies    bool
	Withholds string // a scope that the site never grants
	Keeps     bool   // whether the site lacks an endpoint to revoke tokens
	Clients   []string
	Tokens    map[string]string // scopes by token
	codes     map[string]string // scopes by code
	Revoked   []string
	Registers int

	Logins       []string // nonces of the logins at the identity provider
	Identities   []string // ID tokens that the site issued
	IdentityTime time.Duration
	Trusts       string // another authorization server that the identity provider trusts
}

func NewTokenSite(t *testing.T) *TokenSite {
	s := &TokenSite{Tokens: map[string]string{}, codes: map[string]string{}}
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

func (s *TokenSite) admits(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, good := s.Tokens[token]; good || s.Open {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

func (s *TokenSite) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	say := func(v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		if s.Open {
			http.NotFound(w, r)
			return
		}
		say(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	case "/.well-known/oauth-authorization-server":
		v := map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}}
		if s.Keeps {
			delete(v, "revocation_endpoint")
		}
		say(v)
	case "/register":
		s.Registers++
		w.WriteHeader(http.StatusCreated)
		say(map[string]any{"client_id": "registered"})
	case "/authorize":
		s.Clients = append(s.Clients, r.Form.Get("client_id"))
		q := url.Values{"state": {r.Form.Get("state")}, "iss": {s.URL}}
		if s.Denies {
			q.Set("error", "access_denied")
		} else {
			code := fmt.Sprintf("code%d", len(s.Clients))
			s.codes[code] = strings.Join(slices.DeleteFunc(strings.Fields(r.Form.Get("scope")), func(scope string) bool { return scope == s.Withholds }), " ")
			q.Set("code", code)
		}
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/.well-known/oauth-authorization-server/provider":
		say(map[string]any{"issuer": s.URL + "/provider", "token_endpoint": s.URL + "/provider/token", "authorization_endpoint": s.URL + "/provider/authorize", "revocation_endpoint": s.URL + "/provider/revoke"})
	case "/provider/authorize":
		s.Logins = append(s.Logins, r.Form.Get("nonce"))
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+url.Values{"state": {r.Form.Get("state")}, "code": {"who"}}.Encode(), http.StatusFound)
	case "/provider/revoke":
		s.Revoked = append(s.Revoked, r.Form.Get("token"))
	case "/provider/token":
		id, secret, _ := r.BasicAuth()
		if id == "home" && secret == "hush" && (r.Form.Get("code") == "who" && r.Form.Get("code_verifier") != "" || r.Form.Get("refresh_token") == "secret-login") {
			claims, _ := json.Marshal(map[string]any{"iss": s.URL + "/provider", "sub": "ada", "aud": "home", "exp": time.Now().Add(s.IdentityTime).Unix(), "nonce": s.Logins[len(s.Logins)-1]})
			s.Identities = append(s.Identities, "secret."+base64.RawURLEncoding.EncodeToString(claims)+".x")
			say(map[string]any{"access_token": "for nothing", "token_type": "Bearer", "refresh_token": "secret-login", "id_token": s.Identities[len(s.Identities)-1]})
			return
		}
		if id != "home" || secret != "hush" || r.Form.Get("subject_token") != "who ada is" && !slices.Contains(s.Identities, r.Form.Get("subject_token")) || r.Form.Get("audience") != s.URL && r.Form.Get("audience") != s.Trusts {
			w.WriteHeader(http.StatusBadRequest)
			say(map[string]any{"error": "access_denied"})
			return
		}
		say(map[string]any{"access_token": "ada may", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"})
	case "/token":
		if r.Form.Get("assertion") == "ada may" {
			s.Tokens["secret-token-of-ada"] = "read"
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
		token := fmt.Sprintf("secret-token-%d", len(s.Clients))
		s.Tokens[token] = scope
		say(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "secret-refresh", "scope": scope})
	case "/revoke":
		s.Revoked = append(s.Revoked, r.Form.Get("token"))
		clear(s.Tokens)
	default:
		http.NotFound(w, r)
	}
}
