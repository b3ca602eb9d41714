package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A provider is a site that issues ID tokens.
type provider struct {
	*site
	now     time.Time
	claims  map[string]any // changes of the claims; a nil value removes one
	without bool           // whether responses have no ID token
	pages   []url.Values   // login pages that the user visited
	asked   []url.Values   // requests to the token endpoint
}

func newProvider(t *testing.T) *provider {
	p := &provider{site: newSite(t), now: time.Now().Truncate(time.Second)}
	p.issuer = map[string]any{"scopes_supported": []string{"openid", "offline_access"}, "code_challenge_methods_supported": nil}
	p.answer = func(form url.Values) map[string]any {
		p.asked = append(p.asked, form)
		if p.without {
			return nil
		}
		claims := map[string]any{"iss": p.URL, "sub": "ada", "aud": []string{"client"}, "exp": p.now.Add(10 * time.Minute).Unix()}
		if form.Get("code") != "" {
			claims["nonce"] = p.pages[len(p.pages)-1].Get("nonce")
		}
		maps.Copy(claims, p.claims)
		text, _ := json.Marshal(claims)
		return map[string]any{"id_token": "e30." + base64.RawURLEncoding.EncodeToString(text) + ".c2ln"}
	}
	return p
}

// login returns the identity of a user in a store.
func (p *provider) login(o Options) *Identity {
	o.Visit = func(ctx context.Context, redirect string) (*Visit, error) {
		v, err := p.visit(ctx, redirect)
		if err != nil {
			return nil, err
		}
		visit := v.Go
		v.Go = func(ctx context.Context, page string) (string, error) {
			u, err := url.Parse(page)
			if err != nil {
				return "", err
			}
			p.pages = append(p.pages, u.Query())
			return visit(ctx, page)
		}
		return v, nil
	}
	c := New(o)
	c.now = func() time.Time { return p.now }
	return c.Identity(p.URL)
}

func TestAUserLogsInAtTheirIdentityProvider(t *testing.T) {
	p := newProvider(t)
	i := p.login(Options{})
	if _, err := i.Token(t.Context()); !errors.Is(err, ErrLogin) {
		t.Errorf("before the login: %v", err)
	}
	l, err := i.Login(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !l.Identity || !l.Renews || l.Server != p.URL || l.Issuer != p.URL || l.Resource != "" || !l.Expires.Equal(p.now.Add(10*time.Minute)) {
		t.Errorf("the login is %+v", l)
	}
	page := p.pages[0]
	if page.Get("scope") != "openid offline_access" || page.Get("code_challenge_method") != "S256" || page.Get("nonce") == "" || page.Has("resource") {
		t.Errorf("the user was sent to %v", page)
	}
	first, err := i.Token(t.Context())
	if err != nil || first == "" || len(p.asked) != 1 {
		t.Errorf("%q, %v", first, err)
	}
	p.now = p.now.Add(10*time.Minute - time.Second) // it is renewed before it expires
	second, err := i.Token(t.Context())
	if err != nil || second == first || len(p.pages) != 1 || p.asked[1].Get("grant_type") != "refresh_token" || p.asked[1].Has("resource") {
		t.Errorf("%q, %v, asked for %v", second, err, p.asked)
	}
	if all, err := i.client.Logins(t.Context()); err != nil || len(all) != 1 || !all[0].Identity {
		t.Errorf("%+v, %v", all, err)
	}

	p.without = true // the provider renews only the access token
	p.now = p.now.Add(10*time.Minute - time.Second)
	if got, err := i.Token(t.Context()); err != nil || got != second {
		t.Errorf("while the old one holds: %v", err)
	}
	p.now = p.now.Add(2 * time.Second)
	if _, err := i.Token(t.Context()); !errors.Is(err, ErrLogin) {
		t.Errorf("after that: %v", err)
	}
	p.without = false
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, revoked, err := i.Logout(t.Context()); err != nil || !revoked {
		t.Errorf("%t, %v", revoked, err)
	}
	if _, err := i.Current(t.Context()); !errors.Is(err, ErrNoLogin) {
		t.Errorf("after the logout: %v", err)
	}
	if _, err := i.Token(t.Context()); !errors.Is(err, ErrLogin) {
		t.Errorf("after the logout: %v", err)
	}
}

// One login serves all servers and every process that has the store. After the provider ended it, a
// new login is needed.
func TestALoginAtAnIdentityProviderServesAllServers(t *testing.T) {
	p := newProvider(t)
	i := p.login(Options{})
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	token, err := i.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Store: i.client.store}
	if got, err := p.login(o).Token(t.Context()); err != nil || got != token || len(p.pages) != 1 {
		t.Errorf("another client with the store: %v", err)
	}
	o.Registered = func(string) (Registration, bool) { return Registration{ID: "another"}, true }
	if _, err := p.login(o).Token(t.Context()); !errors.Is(err, ErrLogin) || !strings.Contains(err.Error(), "that of the client client") {
		t.Errorf("another client at the provider: %v", err)
	}
	p.refresh = "" // as after a logout at the provider
	p.now = p.now.Add(11 * time.Minute)
	if _, err := i.Token(t.Context()); !errors.Is(err, ErrLogin) {
		t.Errorf("a login that the provider ended: %v", err)
	}

	s := newSite(t)
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	provide := p.answer
	p.answer = func(form url.Values) map[string]any {
		if form.Get("requested_token_type") == typeGrant {
			return map[string]any{"access_token": "ada may", "issued_token_type": typeGrant, "token_type": "N_A"}
		}
		return provide(form)
	}
	at := Registration{ID: "machine", Secret: "its secret"} // registered with both
	c := New(Options{Registered: func(string) (Registration, bool) { return at, true }, Grant: Enterprise(IdentityProvider{Issuer: p.URL, Client: at, Identity: i.Token, HTTP: http.DefaultClient})})
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if _, _, err := i.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tokens = map[string]string{}
	if _, err := s.get(c, "/mcp"); !errors.Is(err, ErrLogin) {
		t.Errorf("after the logout: %v", err)
	}
}

func TestAnIDTokenMustBeOfThisLogin(t *testing.T) {
	for name, test := range map[string]struct {
		claims map[string]any
		want   string // empty if the token is valid
	}{
		"as it is":                           {nil, ""},
		"for several":                        {map[string]any{"aud": []string{"client", "other"}, "azp": "client"}, ""},
		"for one, as a text":                 {map[string]any{"aud": "client"}, ""},
		"of another login":                   {map[string]any{"nonce": "guessed"}, "to another login (nonce)"},
		"of no login":                        {map[string]any{"nonce": nil}, "to another login (nonce)"},
		"of another provider":                {map[string]any{"iss": "https://evil.example"}, `the ID token was issued by "https://evil.example"`},
		"for another client":                 {map[string]any{"aud": "other"}, `the ID token is for ["other"]`},
		"for another client, which shows it": {map[string]any{"aud": []string{"client", "other"}, "azp": "other"}, "not for client"},
		"for nobody":                         {map[string]any{"aud": nil}, `the ID token is for []`},
		"expired":                            {map[string]any{"exp": 1}, "has expired already"},
		"that never expires":                 {map[string]any{"exp": nil}, "has expired already"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			p.claims = test.claims
			_, err := p.login(Options{}).Login(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	p := newProvider(t)
	p.without = true
	if _, err := p.login(Options{}).Login(t.Context()); err == nil || !strings.Contains(err.Error(), "the response has no id_token") {
		t.Errorf("no ID token: %v", err)
	}
	for _, token := range []string{"x", "a.b", "a.!.c", "a.eA.c"} {
		l := &login{Issuer: &issuer{Issuer: "https://idp.example"}}
		if err := l.identify(&accessToken{Identity: token}, "", time.Now()); err == nil || !strings.Contains(err.Error(), "not a JWT") {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// A provider may respond to a renewal with an unusable ID token, such as the first one, which has
// expired. It has replaced the refresh token by then: the new one must be kept for the next
// renewal.
func TestARefreshTokenIsKeptThoughItsIDTokenDoesNotHold(t *testing.T) {
	p := newProvider(t)
	i := p.login(Options{})
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(10*time.Minute - time.Second)
	p.claims = map[string]any{"exp": p.now.Add(-time.Minute).Unix()}
	if _, err := i.Token(t.Context()); err != nil {
		t.Errorf("the ID token that there is holds still: %v", err)
	}
	p.claims = nil
	if _, err := i.Token(t.Context()); err != nil {
		t.Errorf("the next: %v; asked for %v", err, p.asked[1:])
	}
}

// If a provider sends no ID token with a renewal, the client does not ask again with each request
// near or after the expiry.
func TestAProviderThatGivesNoOtherIDTokenIsNotAskedWithEachRequest(t *testing.T) {
	p := newProvider(t)
	i := p.login(Options{})
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.without = true
	p.now = p.now.Add(10*time.Minute - time.Second)
	for range 50 {
		_, _ = i.Token(t.Context())
	}
	p.now = p.now.Add(time.Hour)
	for range 50 {
		_, _ = i.Token(t.Context())
	}
	if n := len(p.asked) - 1; n > 2 {
		t.Errorf("100 requests for the ID token ask the provider %d times for another", n)
	}
}

// A renewed ID token must have the same user (OpenID Connect Core section 12.2).
func TestARenewedIDTokenIsOfTheSameUser(t *testing.T) {
	p := newProvider(t)
	i := p.login(Options{})
	if _, err := i.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(10 * time.Minute)
	p.claims = map[string]any{"sub": "eve"}
	if token, err := i.Token(t.Context()); err == nil || !strings.Contains(err.Error(), `of the user "eve", not of "ada"`) {
		t.Errorf("%s, %v", token, err)
	}
	p.claims = nil
	if _, err := i.Token(t.Context()); err != nil {
		t.Errorf("the next: %v", err)
	}
}
