package authserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/formfill"
)

const providerAt = "https://login.example"

// An organization is an OpenID provider whose users are already logged in.
type organization struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	claims map[string]any // of the user
	change func(claims map[string]any)
	asked  url.Values // parameters of the last visit
	spent  url.Values // parameters of the last token request
	secret string

	members map[string]any // additional members of the metadata
	iss     string         // iss parameter of the redirect back
	refresh string         // the valid refresh token
	again   bool           // whether a refresh also returns an ID token
	asks    int            // requests to the userinfo endpoint
}

// newOrganization publishes a provider in a web.
func newOrganization(t *testing.T, in web) *organization {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := &organization{t: t, key: key, claims: map[string]any{"sub": "1234", "email": "Ann@Example.com", "email_verified": true}}
	say := func(v any) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	in[providerAt+openIDPath] = func(w http.ResponseWriter, r *http.Request) {
		all := map[string]any{"issuer": providerAt, "authorization_endpoint": providerAt + "/authorize", "token_endpoint": providerAt + "/token", "jwks_uri": providerAt + "/keys"}
		maps.Copy(all, o.members)
		say(all)(w, r)
	}
	in[providerAt+"/keys"] = say(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "one", Algorithm: "ES256", Use: "sig"}}})
	in[providerAt+"/token"] = func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		o.spent = r.PostForm
		_, o.secret, _ = r.BasicAuth()
		say(map[string]any{"access_token": "theirs", "token_type": "Bearer", "id_token": o.identity()})(w, r)
	}
	return o
}

func (o *organization) identity() string {
	now := time.Now()
	c := map[string]any{"iss": providerAt, "aud": "junction", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": o.asked.Get("nonce")}
	for name, value := range o.claims {
		c[name] = value
	}
	if o.change != nil {
		o.change(c)
	}
	return o.sign(c)
}

// sign returns a token signed by the provider.
func (o *organization) sign(c map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: o.key, KeyID: "one"}}, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	text, _ := json.Marshal(c) // it consists of texts and numbers
	object, err := signer.Sign(text)
	if err != nil {
		o.t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		o.t.Fatal(err)
	}
	return token
}

// visit sends a browser to the provider and returns the page or the address at which it ends.
func (o *organization) visit(s *site, b *formfill.Browser, at string) (*formfill.Page, string) {
	o.t.Helper()
	p, err := b.Get(o.t.Context(), at)
	for err == nil && p.Next() != "" && !strings.HasPrefix(p.Next(), providerAt) {
		p, err = b.Get(o.t.Context(), p.Next())
	}
	if err != nil || p.Next() == "" {
		o.t.Fatalf("%d %s, %v", p.Status, p.Text, err)
	}
	o.asked = query(p.Next())
	q := url.Values{"code": {"theirs"}, "state": {o.asked.Get("state")}}
	if o.iss != "" {
		q.Set("iss", o.iss)
	}
	back := o.asked.Get("redirect_uri") + "?" + q.Encode()
	p, err = b.Get(o.t.Context(), back)
	for err == nil && p.Next() != "" && strings.HasPrefix(p.Next(), issuer) {
		p, err = b.Get(o.t.Context(), p.Next())
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return p, back
}

func atProvider(s *site, o *Options) {
	o.Users = nil
	o.Provider = &Provider{Issuer: providerAt, ClientID: "junction", Secret: "their secret", Domains: []string{"example.com"}, Subjects: []string{"robot"}, Scopes: []string{"read"}, HTTP: &http.Client{Transport: s.web}}
}

func newProviderSite(t *testing.T) (*site, *organization) {
	t.Helper()
	plain := newSite(t)
	s := newSite(t, func(o *Options) { atProvider(plain, o) })
	s.web = plain.web
	return s, newOrganization(t, plain.web)
}

func TestUsersLogInAtAnOpenIDProvider(t *testing.T) {
	s, o := newProviderSite(t)
	id := s.register("A client", callback)
	b := s.browser("nobody")
	p, back := o.visit(s, b, ask(id, callback))
	if !strings.Contains(p.Text, "<dd>ann@example.com</dd>") {
		t.Fatalf("%d %s", p.Status, p.Text)
	}
	if o.asked.Get("code_challenge_method") != "S256" || o.asked.Get("scope") != "openid email" || o.asked.Get("redirect_uri") != issuer+callbackPath || o.asked.Get("nonce") == "" {
		t.Errorf("the provider is asked %v", o.asked)
	}
	if o.secret != "their+secret" || o.spent.Get("code_verifier") == "" {
		t.Errorf("the code is redeemed with %v, %q", o.spent, o.secret)
	}
	p, err := b.Send(t.Context(), p.Action, b.Fill(p))
	if err != nil {
		t.Fatal(err)
	}
	status, got := s.redeem(id, callback, query(p.Next()).Get("code"))
	l := s.tokensIn(id, status, got)
	token, err := s.Verify(t.Context(), l.access, resource)
	if err != nil || token.Subject != "ann@example.com" || token.Issuer != issuer {
		t.Errorf("the token says %+v, %v", token, err)
	}
	if strings.Contains(l.access+l.refresh, "theirs") {
		t.Error("the provider's token is passed on")
	}
	status, got = s.refresh(id, l.refresh)
	s.tokensIn(id, status, got)
	// A user who is no longer allowed loses access.
	s.options.Provider.Domains = nil
	status, got = s.refresh(id, l.refresh)
	isRefused(t, "a domain that is not allowed any more", status, got, http.StatusBadRequest, "invalid_grant", "was removed")
	s.options.Provider.Domains = []string{"example.com"}
	// The redirect back is valid only in the browser that started.
	elsewhere := s.browser("x")
	for range 2 { // without a cookie, and with one of its own
		if p, err := elsewhere.Get(t.Context(), back); err != nil || p.Status != http.StatusBadRequest {
			t.Errorf("in another browser: %d %s, %v", p.Status, p.Text, err)
		}
		if _, err := elsewhere.Get(t.Context(), ask(id, callback)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUsersUnknownToTheProviderAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c map[string]any)
		status int
	}{
		"another domain":          {func(c map[string]any) { c["email"] = "ann@example.org" }, http.StatusForbidden},
		"a domain within another": {func(c map[string]any) { c["email"] = "ann@example.com.evil.example" }, http.StatusForbidden},
		"no verified address":     {func(c map[string]any) { c["email_verified"] = false }, http.StatusForbidden},
		"no address":              {func(c map[string]any) { delete(c, "email") }, http.StatusForbidden},
		"another nonce":           {func(c map[string]any) { c["nonce"] = "another" }, http.StatusBadGateway},
		"another audience":        {func(c map[string]any) { c["aud"] = "another" }, http.StatusBadGateway},
		"another issuer":          {func(c map[string]any) { c["iss"] = "https://evil.example" }, http.StatusBadGateway},
		"an old one":              {func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, http.StatusBadGateway},
		"a robot":                 {func(c map[string]any) { c["sub"] = "robot"; delete(c, "email") }, http.StatusOK},
	} {
		s, o := newProviderSite(t)
		o.change = test.change
		p, _ := o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback))
		if p.Status != test.status {
			t.Errorf("%s: %d %s", name, p.Status, p.Text)
		}
	}
}

func TestOptionsThatLackSomethingAreRefused(t *testing.T) {
	good := func() Options {
		return Options{Issuer: issuer, Resource: resource, Users: &Users{}, Store: newSite(t).store, Key: []byte(strings.Repeat("k", 32))}
	}
	for want, change := range map[string]func(o *Options){
		"Issuer":                     func(o *Options) { o.Issuer = issuer + "/path" },
		"Issuer: expected an origin": func(o *Options) { o.Issuer = "ftp://tools.example" },
		"Store":                      func(o *Options) { o.Store = nil },
		"either Users or a Provider": func(o *Options) { o.Users = nil },
		"Resource":                   func(o *Options) { o.Resource = "" },
		"Key":                        func(o *Options) { o.Key = nil },
		"no user may log in": func(o *Options) {
			o.Users, o.Provider = nil, &Provider{Issuer: "x", ClientID: "x", HTTP: http.DefaultClient}
		},
	} {
		o := good()
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := New(good()); err != nil {
		t.Error(err)
	}
}
