package authserver

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
	"golang.org/x/crypto/argon2"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError) // package op logs clients' mistakes
	os.Exit(m.Run())
}

const (
	issuer   = "https://tools.example"
	resource = issuer + "/mcp"
	other    = issuer + "/mcp/work"
	verifier = "a-code-verifier-of-more-than-forty-three-characters"
	password = "a long password"
)

// A site is a Server with users ann (who has the scopes read and write) and ben (read).
type site struct {
	t *testing.T
	*Server
	store *state.Memory
	users *Users
	from  string // address of the sender of requests
	web   web    // documents of clients by URL

	header http.Header // additional headers of requests
}

// A web serves documents at their URLs.
type web map[string]func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements [http.RoundTripper].
func (of web) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if publish := of[r.URL.Scheme+"://"+r.URL.Host+r.URL.Path]; publish != nil {
		publish(w, r)
	} else {
		http.NotFound(w, r)
	}
	response := w.Result()
	response.Request = r
	return response, nil
}

// quickHash returns a hash of [password] that takes microseconds to check: one of [newHash] takes 30 ms, and each test has several.
var quickHash = sync.OnceValue(func() string {
	salt := make([]byte, saltSize)
	key := argon2.IDKey([]byte(password), salt, 1, 8, 1, hashSize)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, text(salt), text(key))
})

func newSite(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	users, err := OpenUsers(filepath.Join(t.TempDir(), "users.json"))
	if err != nil {
		t.Fatal(err)
	}
	err = users.file.Change(t.Context(), func([]User) ([]User, error) {
		return []User{{Name: "ann", Hash: quickHash(), Scopes: []string{"read", "write"}}, {Name: "ben", Hash: quickHash(), Scopes: []string{"read"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, store: state.NewMemory(0), users: users, from: "192.0.2.1:1", web: web{}}
	o := Options{
		Issuer: issuer, Resource: resource, Serves: func(r string) bool { return r == other }, Scopes: []string{"read", "write"}, Needs: []string{"read"},
		Users: users, Store: s.store, Key: []byte(strings.Repeat("k", 32)), Logger: slog.New(slog.DiscardHandler),
		Documents: &http.Client{Transport: s.web},
	}
	for _, f := range change {
		f(&o)
	}
	if s.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

// RoundTrip passes a request to the site without a network.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr = s.from
	maps.Copy(r.Header, s.header)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// browser returns the browser of a user who allows everything.
func (s *site) browser(user string) *formfill.Browser {
	return formfill.New(map[string]string{"username": user, "password": password, "decision": "allow"}, s)
}

// post sends a form, or another body as JSON. It returns the status and the JSON of the response.
func (s *site) post(path string, body any) (int, map[string]any) {
	s.t.Helper()
	kind, text := "application/json", ""
	if form, is := body.(url.Values); is {
		kind, text = "application/x-www-form-urlencoded", form.Encode()
	} else {
		encoded, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(encoded)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, issuer+path, strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	return s.send(req)
}

func (s *site) send(req *http.Request) (int, map[string]any) {
	s.t.Helper()
	response, err := s.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer map[string]any
	_ = json.Unmarshal(got, &answer) // otherwise it stays nil
	return response.StatusCode, answer
}

// register registers a client with redirect URIs.
func (s *site) register(name string, redirects ...string) string {
	s.t.Helper()
	status, got := s.post(registerPath, map[string]any{"client_name": name, "redirect_uris": redirects, "token_endpoint_auth_method": "client_secret_basic"})
	id, _ := got["client_id"].(string)
	if status != http.StatusCreated || id == "" || got["token_endpoint_auth_method"] != "none" || got["client_secret"] != nil {
		s.t.Fatalf("registered: %d %v", status, got)
	}
	return id
}

// ask returns the URL at which a client requests a code; changes are pairs of a parameter and its
// value, and - removes one.
func ask(id, redirect string, changes ...string) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {redirect}, "state": {"the state"}, "resource": {resource},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "scope": {"read"},
	}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "-" {
			q.Del(changes[i])
		}
	}
	return issuer + authorizePath + "?" + q.Encode()
}

// endsAt reports whether an address is the redirect URI of a client.
func endsAt(redirect string) func(string) bool {
	return func(to string) bool { return strings.HasPrefix(to, redirect+"?") }
}

// code returns the code with which a browser comes back.
func (s *site) code(b *formfill.Browser, at, redirect string) string {
	s.t.Helper()
	back, err := b.Visit(s.t.Context(), at, endsAt(redirect))
	if err != nil {
		s.t.Fatal(err)
	}
	q := query(back)
	if q.Get("state") != "the state" || q.Get("iss") != issuer || q.Get("code") == "" {
		s.t.Fatalf("it comes back with %v", q)
	}
	return q.Get("code")
}

func query(text string) url.Values {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	return u.Query()
}

// redeem exchanges a code for tokens.
func (s *site) redeem(id, redirect, code string, changes ...string) (int, map[string]any) {
	s.t.Helper()
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {id}, "redirect_uri": {redirect}, "code": {code}, "code_verifier": {verifier}, "resource": {resource}}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
		if changes[i+1] == "-" {
			form.Del(changes[i])
		}
	}
	return s.post(tokenPath, form)
}

func (s *site) refresh(id, token string, changes ...string) (int, map[string]any) {
	s.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {token}}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return s.post(tokenPath, form)
}

const callback = "http://127.0.0.1:4711/callback"

// in is a user who is logged in with a client.
type in struct {
	client, access, refresh, scope string
}

// login logs a user in with a new client.
func (s *site) login(user string, changes ...string) in {
	s.t.Helper()
	id := s.register("A client", callback)
	status, got := s.redeem(id, callback, s.code(s.browser(user), ask(id, callback, changes...), callback), changes...)
	return s.tokensIn(id, status, got)
}

func (s *site) tokensIn(id string, status int, got map[string]any) in {
	s.t.Helper()
	return s.tokensOf("Bearer", id, status, got)
}

// tokensOf returns the tokens of a response, after checking the kind of the access token.
func (s *site) tokensOf(kind, id string, status int, got map[string]any) in {
	s.t.Helper()
	l := in{client: id}
	l.access, _ = got["access_token"].(string)
	l.refresh, _ = got["refresh_token"].(string)
	l.scope, _ = got["scope"].(string)
	if status != http.StatusOK || l.access == "" || l.refresh == "" || got["token_type"] != kind || got["expires_in"] == nil || got["id_token"] != nil {
		s.t.Fatalf("tokens: %d %v", status, got)
	}
	return l
}

// isRefused checks that a response is an error with a description.
func isRefused(t *testing.T, what string, status int, got map[string]any, wantStatus int, fault, why string) {
	t.Helper()
	said, _ := got["error_description"].(string)
	if status != wantStatus || got["error"] != fault || !strings.Contains(said, why) {
		t.Errorf("%s: %d %v; expected %d %s, and %q in the description", what, status, got, wantStatus, fault, why)
	}
}

// guard returns a guard for a resource with the tokens of the site.
func (s *site) guard(of string) *auth.Guard {
	s.t.Helper()
	g, err := auth.New(auth.Options{Resource: of, Servers: []string{issuer}, Verifier: s.Server, Needs: []string{"read"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// lets returns the result of a guard for a request with a token.
func lets(g *auth.Guard, token string) error {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, resource, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := g.Principal(r)
	return err
}
