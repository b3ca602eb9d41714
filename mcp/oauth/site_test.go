package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A site is a server that requires tokens, together with its authorization server. The integration
// layer uses real ones. Set its fields before use.
type site struct {
	*httptest.Server
	t *testing.T

	resource   map[string]any                       // changes of the protected resource's metadata
	issuer     map[string]any                       // changes of the authorization server's metadata
	registered map[string]any                       // changes of a client's registration
	back       func(q url.Values)                   // changes the parameters of the redirect back
	answer     func(form url.Values) map[string]any // changes the response of the token endpoint
	challenge  string                               // replaces the usual challenge
	needs      string                               // a scope that calls need
	proofs     bool                                 // whether tokens need proofs of possession
	nonces     bool                                 // whether proofs need a nonce
	lasts      int                                  // lifetime of a token in seconds

	mu        sync.Mutex
	visits    int // visits of the login page
	refreshes int
	registers int
	revoked   []string
	methods   []string              // of the registration, then of each authentication
	seen      map[string]bool       // proofs
	sent      []string              // tokens that the server received
	codes     map[string]url.Values // by code, the parameters of its authorization request
	tokens    map[string]string     // scopes of valid access tokens
	refresh   string                // the valid refresh token
	n         int
}

func newSite(t *testing.T) *site {
	s := &site{t: t, seen: map[string]bool{}, codes: map[string]url.Values{}, tokens: map[string]string{}, lasts: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *site) name(what string) string { s.n++; return fmt.Sprintf("%s%d", what, s.n) }

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say := func(v map[string]any, changes map[string]any) {
		for name, value := range changes {
			v[name] = value
			if value == nil {
				delete(v, name)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		say(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"read"}}, s.resource)
	case "/.well-known/oauth-authorization-server":
		say(map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize?tenant=1", "token_endpoint": s.URL + "/token", "revocation_endpoint": s.URL + "/revoke", "registration_endpoint": s.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}, s.issuer)
	case "/register":
		s.registers++
		var asked struct {
			Method string `json:"token_endpoint_auth_method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		s.methods = append(s.methods, asked.Method)
		w.WriteHeader(http.StatusCreated)
		say(map[string]any{"client_id": "client"}, s.registered)
	case "/token":
		s.serveToken(w, r, say)
	case "/revoke":
		_ = r.ParseForm()
		s.methods = append(s.methods, methodOf(r))
		s.revoked = append(s.revoked, r.PostForm.Get("token"))
		s.tokens, s.refresh = map[string]string{}, ""
	case "/mcp", "/elsewhere":
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.sent = append(s.sent, token)
		scopes, good := s.tokens[token]
		switch {
		case !good && s.proofs:
			if fault := s.proof(w, r); fault != "" {
				w.Header().Set("WWW-Authenticate", `DPoP error="`+fault+`", resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
				w.WriteHeader(http.StatusUnauthorized)
			}
		case !good:
			challenge := s.challenge
			if challenge == "" {
				challenge = `Basic realm="x, y", Bearer resource_metadata="` + s.URL + `/.well-known/oauth-protected-resource/mcp"`
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		case s.needs != "" && !strings.Contains(" "+scopes+" ", " "+s.needs+" "):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+s.needs+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			fmt.Fprint(w, scopes)
		}
	default:
		http.NotFound(w, r)
	}
}

func (s *site) serveToken(w http.ResponseWriter, r *http.Request, say func(v, changes map[string]any)) {
	_ = r.ParseForm()
	s.methods = append(s.methods, methodOf(r))
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		say(map[string]any{"error": code, "error_description": "no\x1b[31m"}, nil)
	}
	if s.proofs {
		if fault := s.proof(w, r); fault != "" {
			refuse(fault)
			return
		}
	}
	scope := ""
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked := s.codes[r.PostForm.Get("code")]
		delete(s.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("resource") != r.PostForm.Get("resource") || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
			refuse("invalid_grant")
			return
		}
		scope = asked.Get("scope")
	case "refresh_token":
		s.refreshes++
		if r.PostForm.Get("refresh_token") != s.refresh {
			s.tokens, s.refresh = map[string]string{}, "" // as servers do if a refresh token is used twice
			refuse("invalid_grant")
			return
		}
		scope = "read"
	case "client_credentials", grantAssertion, grantExchange:
		id, secret, _ := r.BasicAuth()
		if secret, err := url.QueryUnescape(secret); id != "machine" || r.PostForm.Get("client_id") != id || secret != "its secret" || err != nil {
			refuse("invalid_client")
			return
		}
		scope = r.PostForm.Get("scope")
	default:
		refuse("unsupported_grant_type")
		return
	}
	access := s.name("access")
	s.tokens[access], s.refresh = scope, s.name("refresh")
	v := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": s.refresh, "expires_in": s.lasts}
	if s.proofs {
		v["token_type"] = "DPoP"
	}
	if r.PostForm.Get("grant_type") == "client_credentials" {
		delete(v, "refresh_token")
	}
	if s.answer != nil {
		say(v, s.answer(r.PostForm))
		return
	}
	say(v, nil)
}

// methodOf returns the authentication method of a request.
func methodOf(r *http.Request) string {
	_, _, basic := r.BasicAuth()
	switch {
	case basic && r.PostForm.Has("client_secret"):
		return "both"
	case basic:
		return methodBasic
	case r.PostForm.Has("client_secret"):
		return methodPost
	}
	return methodNone
}

// proof returns the fault of a request's proof, checked as in RFC 9449 section 4.3, or "".
func (s *site) proof(w http.ResponseWriter, r *http.Request) (fault string) {
	token, isBound := strings.CutPrefix(r.Header.Get("Authorization"), "DPoP ")
	object, err := jose.ParseSignedCompact(r.Header.Get("DPoP"), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return "invalid_dpop_proof"
	}
	header := object.Signatures[0].Header
	payload, err := object.Verify(header.JSONWebKey)
	var claims struct{ JTI, HTM, HTU, ATH, Nonce string }
	if err != nil || json.Unmarshal(payload, &claims) != nil || header.ExtraHeaders["typ"] != "dpop+jwt" || !header.JSONWebKey.IsPublic() {
		return "invalid_dpop_proof"
	}
	sum := sha256.Sum256([]byte(token))
	switch {
	case claims.HTM != r.Method || claims.HTU != s.URL+r.URL.Path || claims.JTI == "" || s.seen[claims.JTI]:
		return "invalid_dpop_proof"
	case r.URL.Path != "/token" && (!isBound || claims.ATH != base64.RawURLEncoding.EncodeToString(sum[:])):
		return "invalid_dpop_proof"
	}
	s.seen[claims.JTI] = true
	if s.nonces && claims.Nonce != "nonce of "+r.URL.Path {
		w.Header().Set("DPoP-Nonce", "nonce of "+r.URL.Path)
		return "use_dpop_nonce"
	}
	if _, good := s.tokens[token]; r.URL.Path != "/token" && !good {
		return "invalid_token"
	}
	return ""
}

// visit returns the visit of a user who logs in.
func (s *site) visit(context.Context, string) (*Visit, error) {
	return &Visit{Redirect: "http://127.0.0.1:1/callback", Go: func(_ context.Context, page string) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.visits++
		u, err := url.Parse(page)
		if err != nil || !strings.HasPrefix(page, s.URL+"/authorize?") || u.Query().Get("tenant") != "1" {
			return "", fmt.Errorf("the page is %s", page)
		}
		code := s.name("code")
		s.codes[code] = u.Query()
		q := url.Values{"code": {code}, "state": {u.Query().Get("state")}, "iss": {s.URL}}
		if s.back != nil {
			s.back(q)
		}
		return u.Query().Get("redirect_uri") + "?" + q.Encode(), nil
	}}, nil
}

// client returns a client whose clock the test sets.
func (s *site) client(now *time.Time) *Client {
	c := New(Options{Visit: s.visit})
	if now != nil {
		c.now = func() time.Time { return *now }
	}
	return c
}

// get requests a page of the site with a client's tokens.
func (s *site) get(c *Client, path string) (status int, err error) {
	t, err := c.Transport(s.URL+"/mcp", nil)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	response, err := t.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
