package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
)

const resource = "https://mcp.example/mcp"

// A giver is an authorization server that signs tokens. The integration layer uses real ones.
type giver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	keys   []jose.JSONWebKey // including the private keys
	raw    []byte            // replaces the keys
	reads  int               // number of reads of the keys
	broken bool
	active map[string]map[string]any // introspection responses by token
	asked  int
}

func newGiver(t *testing.T) *giver {
	g := &giver{t: t, active: map[string]map[string]any{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	g.rotate("first")
	return g
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// rotate adds a key that signs from now on.
func (g *giver) rotate(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys = append(g.keys, jose.JSONWebKey{Key: newKey(g.t), KeyID: id, Algorithm: "ES256", Use: "sig"})
}

func (g *giver) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.broken:
		http.Error(w, "no", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, g.URL, g.URL+"/keys")
	case r.URL.Path == "/keys":
		g.reads++
		if g.raw != nil {
			_, _ = w.Write(g.raw)
			return
		}
		var set jose.JSONWebKeySet
		for _, key := range g.keys {
			set.Keys = append(set.Keys, key.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	case r.URL.Path == "/introspect":
		g.asked++
		if id, secret, _ := r.BasicAuth(); id != "server" || secret != "its+secret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		said := maps.Clone(g.active[r.FormValue("token")])
		if said == nil {
			said = map[string]any{"active": false}
		}
		_ = json.NewEncoder(w).Encode(said)
	default:
		http.NotFound(w, r)
	}
}

// token returns a valid token with changes of its claims; a nil value removes a claim.
func (g *giver) token(changes map[string]any) string {
	g.mu.Lock()
	key := g.keys[len(g.keys)-1]
	g.mu.Unlock()
	return sign(g.t, jose.ES256, key, "at+jwt", g.claims(changes))
}

func (g *giver) claims(changes map[string]any) map[string]any {
	c := map[string]any{"iss": g.URL, "sub": "ada", "client_id": "c", "aud": resource, "scope": "read write", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range changes {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, kind string, claims any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options.WithType(jose.ContentType(kind)))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (g *giver) guard(o Options) *Guard {
	g.t.Helper()
	o.Resource, o.Servers = resource, []string{g.URL}
	if o.Verifier == nil {
		o.Verifier = JWT(JWTOptions{Issuer: g.URL, HTTP: g.Client()})
	}
	guard, err := New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	return guard
}

// ask sends a request with headers and returns the response and the subject.
func ask(guard *Guard, header http.Header) (*httptest.ResponseRecorder, string) {
	who := ""
	h := guard.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p := PrincipalOf(r.Context())
		who = fmt.Sprint(p.Subject, p.Scopes)
	}))
	r := httptest.NewRequest(http.MethodPost, "http://10.0.0.1:8080/mcp", strings.NewReader("{}"))
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, who
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestTokensAreAccepted(t *testing.T) {
	g := newGiver(t)
	guard := g.guard(Options{Scopes: []string{"read"}})
	for _, token := range []string{
		g.token(nil),
		g.token(map[string]any{"aud": []string{"https://else.example", resource + "/"}}),
		g.token(map[string]any{"scope": nil, "scp": []string{"read", "write"}}),
		g.token(map[string]any{"sub": nil, "client_id": "ada"}),
		g.token(map[string]any{"nbf": time.Now().Add(skew / 2).Unix()}),
	} {
		for range 3 {
			if w, who := ask(guard, bearer(token)); w.Code != http.StatusOK || who != "ada[read write]" {
				t.Errorf("%d, %q", w.Code, who)
			}
		}
	}
	if g.reads != 1 {
		t.Errorf("the keys were read %d times", g.reads)
	}
}

func TestChallengesNameScopes(t *testing.T) {
	g := newGiver(t)
	guard := g.guard(Options{Name: "Files", Scopes: []string{"read", "admin"}, Needs: []string{"admin"}})
	const metadataURL = `resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`
	w, _ := ask(guard, nil)
	if got := w.Header().Get("WWW-Authenticate"); w.Code != http.StatusUnauthorized || got != "Bearer "+metadataURL+`, scope="read admin"` {
		t.Errorf("without a token: %d, %s", w.Code, got)
	}
	w, _ = ask(guard, bearer("x.y.z"))
	if got := w.Header().Get("WWW-Authenticate"); w.Code != http.StatusUnauthorized || got != `Bearer error="invalid_token", `+metadataURL+`, scope="read admin"` {
		t.Errorf("with a bad one: %d, %s", w.Code, got)
	}
	w, _ = ask(guard, bearer(g.token(nil)))
	if got := w.Header().Get("WWW-Authenticate"); w.Code != http.StatusForbidden || got != `Bearer error="insufficient_scope", `+metadataURL+`, scope="admin"` {
		t.Errorf("with less rights: %d, %s", w.Code, got)
	}
	for _, path := range []string{guard.MetadataPath(), wellKnown} {
		w := httptest.NewRecorder()
		guard.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		var m metadata
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || m.Resource != resource || fmt.Sprint(m.Servers) != "["+g.URL+"]" || m.Name != "Files" || len(m.Scopes) != 2 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s, %v", path, w.Body, err)
		}
	}
}

// A client requests the scopes that the metadata or the last challenge names, and only these. It
// never gets a scope that is not named.
func TestChallengesNameMetadata(t *testing.T) {
	g := newGiver(t)
	bound := g.token(map[string]any{"cnf": map[string]any{"jkt": "thumbprint"}})
	for _, test := range []struct {
		name  string
		o     Options
		first []string // scopes that it requests at login
		more  string   // scopes for a call that needs admin
	}{
		{"nothing", Options{}, nil, "admin"},
		{"only what everything needs", Options{Needs: []string{"read"}}, []string{"read"}, "read admin"},
		{"more than everything needs", Options{Scopes: []string{"read", "write"}, Needs: []string{"read"}}, []string{"read", "write"}, "read admin"},
		{"what everything needs is among it", Options{Scopes: []string{"write"}, Needs: []string{"read", "write"}}, []string{"write", "read"}, "read write admin"},
		{"what a call needs is what everything needs", Options{Needs: []string{"admin"}}, []string{"admin"}, "admin"},
		{"with proofs", Options{Needs: []string{"read"}, Proofs: ProofsNeeded}, []string{"read"}, "read admin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			guard := g.guard(test.o)
			for what, header := range map[string]http.Header{"no token": nil, "a bad one": bearer("x.y.z"), "no token at all": bearer("x y"), "no proof": bearer(bound), "a proof of no key": {"Authorization": {"DPoP " + bound}}} {
				w, _ := ask(guard, header)
				challenge := w.Header().Get("WWW-Authenticate")
				if _, after, _ := strings.Cut(challenge, ` scope="`); w.Code != http.StatusUnauthorized || strings.Split(after, `"`)[0] != strings.Join(test.first, " ") {
					t.Errorf("%s: %d, %s", what, w.Code, challenge)
				}
			}
			w := httptest.NewRecorder()
			guard.Metadata().ServeHTTP(w, httptest.NewRequest(http.MethodGet, guard.MetadataPath(), nil))
			var m metadata
			if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || !slices.Equal(m.Scopes, test.first) {
				t.Errorf("the metadata: %s, %v", w.Body, err)
			}
			if challenge := guard.Challenge([]string{"admin"}); !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, ` scope="`+test.more+`"`) {
				t.Errorf("a call that needs more: %s", challenge)
			}
		})
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	g, other := newGiver(t), newGiver(t)
	guard := g.guard(Options{})
	real := g.token(nil)
	parts := strings.Split(real, ".")
	encode := func(v any) string {
		data, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(data)
	}
	public, err := json.Marshal(g.keys[0].Public())
	if err != nil {
		t.Fatal(err)
	}
	mine := newKey(t)
	for _, test := range []struct{ name, token, want string }{
		{"of another audience", g.token(map[string]any{"aud": "https://else.example/mcp"}), "not for " + resource},
		{"of an audience that begins alike", g.token(map[string]any{"aud": resource + ".evil.example"}), "not for " + resource},
		{"of no audience", g.token(map[string]any{"aud": nil}), "not for " + resource},
		{"of another authorization server", other.token(nil), "does not have the signature"},
		{"of one that claims to be ours", other.token(map[string]any{"iss": g.URL}), "does not have the signature"},
		{"of another issuer", g.token(map[string]any{"iss": "https://evil.example"}), "it was issued by"},
		{"expired", g.token(map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), "expired"},
		{"without an end", g.token(map[string]any{"exp": nil}), "no expiry time"},
		{"not yet", g.token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "not valid before"},
		{"of nobody", g.token(map[string]any{"sub": nil, "client_id": nil}), "it has no subject"},
		{"not signed", encode(map[string]any{"alg": "none", "typ": "at+jwt"}) + "." + parts[1] + ".", "exactly one signature"},
		{"signed with the public key as a secret", sign(t, jose.HS256, []byte(public), "at+jwt", g.claims(nil)), "exactly one signature"},
		{"changed", parts[0] + "." + encode(g.claims(map[string]any{"sub": "root"})) + "." + parts[2], "does not have the signature"},
		{"with a key of its own", sign(t, jose.ES256, jose.JSONWebKey{Key: mine, KeyID: "first"}, "at+jwt", g.claims(nil)), "does not have the signature"},
		{"with a key that is not there", sign(t, jose.ES256, jose.JSONWebKey{Key: mine, KeyID: "../../first' OR 1=1"}, "at+jwt", g.claims(nil)), "has no key"},
		{"that is a proof", sign(t, jose.ES256, g.keys[0], "dpop+jwt", g.claims(nil)), "of the type"},
		{"with times that overflow", g.token(map[string]any{"exp": 1e300, "nbf": 1e300}), "not valid before"},
		{"that is no JSON", sign(t, jose.ES256, g.keys[0], "at+jwt", "text"), "cannot unmarshal"},
		{"too long", strings.Repeat("a", maxToken+1), "is not a token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header = bearer(test.token)
			_, err := guard.Principal(r)
			refused, is := errors.AsType[*Refusal](err)
			if !is || refused.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			w := httptest.NewRecorder()
			refused.ServeHTTP(w, r)
			if strings.Contains(w.Body.String()+w.Header().Get("WWW-Authenticate"), test.want) {
				t.Errorf("the client hears why: %s", w.Body)
			}
		})
	}
	for name, r := range map[string]*http.Request{
		"two tokens": {Header: http.Header{"Authorization": {"Bearer " + real, "Bearer " + real}}},
		"a token in the URL": func() *http.Request {
			r := httptest.NewRequest(http.MethodGet, "/mcp?access_token=x", nil)
			r.Header = bearer(real)
			return r
		}(),
	} {
		if r.URL == nil {
			r.URL = guard.resource
		}
		_, err := guard.Principal(r)
		if refused, is := errors.AsType[*Refusal](err); !is || refused.Status != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	g := newGiver(t)
	now := time.Now()
	v := JWT(JWTOptions{Issuer: g.URL, HTTP: g.Client()}).(*jwt)
	v.now = func() time.Time { return now }
	holds := func(token string) error {
		_, err := v.Verify(t.Context(), token, resource)
		return err
	}
	if err := holds(g.token(nil)); err != nil {
		t.Fatal(err)
	}
	g.rotate("second")
	second := g.token(nil)
	if err := holds(second); !errors.Is(err, ErrToken) { // the keys were read a moment ago
		t.Errorf("at once: %v", err)
	}
	now = now.Add(keysPause)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := holds(second); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if g.reads != 2 {
		t.Errorf("the keys were read %d times", g.reads)
	}
	g.mu.Lock()
	g.broken = true
	g.mu.Unlock()
	now = now.Add(keysLife)
	if err := holds(second); err != nil {
		t.Errorf("while the keys cannot be read: %v", err)
	}
	now = now.Add(maxStale)
	if err := holds(second); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a day later: %v", err)
	}
}

func TestKeysThatWouldCostTooMuchAreNotUsed(t *testing.T) {
	g := newGiver(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip(err)
	}
	many := jose.JSONWebKeySet{}
	for i := range 100 + 1 {
		many.Keys = append(many.Keys, jose.JSONWebKey{Key: newKey(t).Public(), KeyID: fmt.Sprint(i)})
	}
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, test := range []struct {
		name  string
		raw   []byte
		token string
		want  error
	}{
		{"more than there should be", encode(many), g.token(nil), ErrUnavailable},
		{"a bomb", []byte(`{"keys":[` + strings.Repeat(" ", maxDocument) + `]}`), g.token(nil), ErrUnavailable},
		{"a key that can be broken", encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: small.Public(), KeyID: "small"}}}),
			sign(t, jose.RS256, jose.JSONWebKey{Key: small, KeyID: "small"}, "at+jwt", g.claims(nil)), ErrToken},
		{"a secret", []byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0","kid":"first"}]}`), g.token(nil), ErrToken},
		{"kinds that nobody knows", []byte(`{"keys":[{"kty":"AKP"},{"kty":"EC"},7]}`), g.token(nil), ErrToken},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.mu.Lock()
			g.raw = test.raw
			g.mu.Unlock()
			_, err := JWT(JWTOptions{Issuer: g.URL, Keys: g.URL + "/keys", HTTP: g.Client()}).Verify(t.Context(), test.token, resource)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestTheAuthorizationServerIsAsked(t *testing.T) {
	g := newGiver(t)
	v := Introspection(IntrospectionOptions{Issuer: g.URL, URL: g.URL + "/introspect", ClientID: "server", Secret: "its secret", HTTP: g.Client()})
	guard := g.guard(Options{Verifier: v})
	now := time.Now()
	guard.now = func() time.Time { return now }
	g.active["opaque"] = map[string]any{"active": true, "sub": "ada", "aud": resource, "scope": "read write", "exp": now.Add(time.Hour).Unix()}
	g.active["elsewhere"] = map[string]any{"active": true, "sub": "ada", "aud": "https://else.example"}
	for range 5 {
		if w, who := ask(guard, bearer("opaque")); w.Code != http.StatusOK || who != "ada[read write]" {
			t.Errorf("%d, %q", w.Code, who)
		}
	}
	if g.asked != 1 {
		t.Errorf("asked %d times", g.asked)
	}
	for _, token := range []string{"unknown", "elsewhere"} {
		if w, _ := ask(guard, bearer(token)); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", token, w.Code)
		}
	}
	delete(g.active, "opaque") // revoked
	now = now.Add(defaultFresh + time.Second)
	if w, _ := ask(guard, bearer("opaque")); w.Code != http.StatusUnauthorized {
		t.Errorf("revoked: %d", w.Code)
	}
	for token, isInactive := range map[string]bool{"opaque": true, "elsewhere": false} {
		req := httptest.NewRequest(http.MethodPost, resource, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		if _, err := guard.Principal(req); !errors.Is(err, ErrToken) || errors.Is(err, ErrInactive) != isInactive {
			t.Errorf("%s: %v", token, err)
		}
	}
	g.broken = true
	if w, _ := ask(guard, bearer("new")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("out of order: %d", w.Code)
	}
}

// A holder is a client with a key.
type holder struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func (h holder) thumbprint() string {
	sum, err := (&jose.JSONWebKey{Key: h.key.Public()}).Thumbprint(crypto.SHA256)
	if err != nil {
		h.t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// proof returns a proof for a request with a token, with changes of its claims.
func (h holder) proof(token string, changes map[string]any) string {
	hash := sha256.Sum256([]byte(token))
	claims := map[string]any{"jti": rand.Text(), "htm": "POST", "htu": resource, "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(hash[:])}
	maps.Copy(claims, changes)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: h.key}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		h.t.Fatal(err)
	}
	payload, _ := json.Marshal(claims)
	object, err := signer.Sign(payload)
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := object.CompactSerialize()
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

func TestATokenThatIsBoundNeedsItsKey(t *testing.T) {
	g := newGiver(t)
	guard := g.guard(Options{})
	ada, eve := holder{t, newKey(t)}, holder{t, newKey(t)}
	token := g.token(map[string]any{"cnf": map[string]any{"jkt": ada.thumbprint()}})
	free := g.token(nil)
	used := ada.proof(token, nil)
	send := func(scheme, token string, proofs ...string) http.Header {
		return http.Header{"Authorization": {scheme + " " + token}, "Dpop": proofs}
	}
	for _, test := range []struct {
		name   string
		header http.Header
		want   string // empty if let in
	}{
		{"with a proof", send("DPoP", token, used), ""},
		{"with a URL of other capitals", send("dpop", token, ada.proof(token, map[string]any{"htu": "HTTPS://MCP.example:443/mcp"})), ""},
		{"a proof that was used", send("DPoP", token, used), "invalid_dpop_proof"},
		{"no proof", send("DPoP", token), "invalid_dpop_proof"},
		{"two proofs", send("DPoP", token, ada.proof(token, nil), ada.proof(token, nil)), "invalid_dpop_proof"},
		{"as a bearer", send("Bearer", token, ada.proof(token, nil)), "invalid_token"},
		{"of another key", send("DPoP", token, eve.proof(token, nil)), "invalid_dpop_proof"},
		{"for another token", send("DPoP", token, ada.proof(free, nil)), "invalid_dpop_proof"},
		{"for another method", send("DPoP", token, ada.proof(token, map[string]any{"htm": "GET"})), "invalid_dpop_proof"},
		{"for another server", send("DPoP", token, ada.proof(token, map[string]any{"htu": "https://evil.example/mcp"})), "invalid_dpop_proof"},
		{"for another path", send("DPoP", token, ada.proof(token, map[string]any{"htu": "https://mcp.example/other"})), "invalid_dpop_proof"},
		{"an old one", send("DPoP", token, ada.proof(token, map[string]any{"iat": time.Now().Add(-jws.ProofTime - 2*skew).Unix()})), "invalid_dpop_proof"},
		{"one of the future", send("DPoP", token, ada.proof(token, map[string]any{"iat": time.Now().Add(2 * skew).Unix()})), "invalid_dpop_proof"},
		{"without an id", send("DPoP", token, ada.proof(token, map[string]any{"jti": ""})), "invalid_dpop_proof"},
		{"a token as a proof", send("DPoP", token, free), "invalid_dpop_proof"},
		{"a token that is not bound, as if", send("DPoP", free, ada.proof(free, nil)), "invalid_token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, who := ask(guard, test.header)
			challenge := w.Header().Get("WWW-Authenticate")
			switch {
			case test.want == "" && (w.Code != http.StatusOK || who == ""):
				t.Errorf("%d, %s", w.Code, challenge)
			case test.want != "" && (w.Code != http.StatusUnauthorized || who != "" || !strings.Contains(challenge, `error="`+test.want+`"`)):
				t.Errorf("%d, %s, want %s", w.Code, challenge, test.want)
			}
		})
	}
	needed := g.guard(Options{Proofs: ProofsNeeded})
	if w, _ := ask(needed, bearer(free)); w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "DPoP ") {
		t.Errorf("not bound where it has to be: %d, %v", w.Code, w.Header())
	}
}

func TestANonceIsGivenAndHoldsForAWhile(t *testing.T) {
	g := newGiver(t)
	guard := g.guard(Options{Proofs: ProofsWithNonce})
	now := time.Now()
	guard.now = func() time.Time { return now }
	ada := holder{t, newKey(t)}
	token := g.token(map[string]any{"cnf": map[string]any{"jkt": ada.thumbprint()}, "exp": now.Add(24 * time.Hour).Unix()})
	send := func(nonce string) *httptest.ResponseRecorder {
		w, _ := ask(guard, http.Header{"Authorization": {"DPoP " + token}, "Dpop": {ada.proof(token, map[string]any{"nonce": nonce, "iat": now.Unix()})}})
		return w
	}
	w := send("")
	nonce := w.Header().Get("DPoP-Nonce")
	if w.Code != http.StatusUnauthorized || nonce == "" || !strings.Contains(w.Header().Get("WWW-Authenticate"), `error="use_dpop_nonce"`) {
		t.Fatalf("without: %d, %v", w.Code, w.Header())
	}
	for range 3 {
		if w := send(nonce); w.Code != http.StatusOK {
			t.Errorf("with it: %d, %v", w.Code, w.Header())
		}
		now = now.Add(40 * time.Second)
	}
	now = now.Add(4 * time.Minute)
	if w := send(nonce); w.Code != http.StatusUnauthorized || w.Header().Get("DPoP-Nonce") == nonce {
		t.Errorf("later: %d, %v", w.Code, w.Header())
	}
}

func TestSoManyTokensAndProofsAreRemembered(t *testing.T) {
	var c cache
	now := time.Now()
	for i := range maxCached + 100 {
		c.put(hashOf(fmt.Sprint(i)), &Token{Expires: now.Add(time.Hour)}, now, 0)
	}
	if len(c.tokens) > maxCached {
		t.Errorf("%d tokens", len(c.tokens))
	}
	var p proofs
	for i := range maxAllProofs {
		if ok, err := p.use(hashOf(fmt.Sprint(i)), now); !ok || err != nil {
			t.Fatal(i, ok, err)
		}
	}
	if _, err := p.use(hashOf("another"), now); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	later := now.Add(2*(jws.ProofTime+skew) + time.Second)
	if ok, err := p.use(hashOf("another"), later); !ok || err != nil {
		t.Errorf("later: %v, %v", ok, err)
	}
	if ok, _ := p.use(hashOf("7"), later); ok {
		t.Error("a proof of before was used again")
	}
}

func TestOptionsThatLackSomethingAreRefused(t *testing.T) {
	verifier := JWT(JWTOptions{Issuer: "https://as.example"})
	for want, o := range map[string]Options{
		"Resource": {Servers: []string{"https://as.example"}, Verifier: verifier},
		"Servers":  {Resource: resource, Verifier: verifier},
		"Verifier": {Resource: resource, Servers: []string{"https://as.example"}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	g := &giver{active: map[string]map[string]any{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	defer g.Close()
	g.keys = []jose.JSONWebKey{{Key: newKey(b), KeyID: "k", Algorithm: "ES256"}}
	guard, err := New(Options{Resource: resource, Servers: []string{g.URL}, Verifier: JWT(JWTOptions{Issuer: g.URL, HTTP: g.Client()})})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil).WithContext(context.Background())
	r.Header = bearer(sign(b, jose.ES256, g.keys[0], "at+jwt", g.claims(nil)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guard.Principal(r); err != nil {
			b.Fatal(err)
		}
	}
}
