package authserver

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// logoutClaims returns the claims of a valid logout token with an ID.
func logoutClaims(id string, more map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{"iss": providerAt, "aud": "junction", "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(), "jti": id, "events": map[string]any{logoutEvent: map[string]any{}}}
	maps.Copy(c, more)
	return c
}

// logout sends a logout token to a site.
func (s *site) logout(token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, issuer+logoutPath, strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = s.from
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// names returns the users with logins.
func (s *site) names() (all []string) {
	s.t.Helper()
	logins, err := Logins(s.t.Context(), s.store)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range logins {
		all = append(all, l.User)
	}
	slices.Sort(all)
	return all
}

func TestProvidersEndLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		var events []Event
		s.options.Happened = func(_ context.Context, e Event) error { events = append(events, e); return nil }
		id := s.register("A client", callback)
		login := func(sub, sid string) in {
			o.claims = map[string]any{"sub": sub, "email": sub + "@example.com", "email_verified": true}
			if sid != "" {
				o.claims["sid"] = sid
			}
			return o.allowed(s, s.browser("nobody"), id)
		}
		ann := login("ann", "s1")
		login("ann", "s2")
		login("ben", "s3")
		login("cid", "")
		login("robot", "s4")
		check := func(want ...string) {
			t.Helper()
			if got := s.names(); !slices.Equal(got, want) {
				t.Errorf("logged in are %q, want %q", got, want)
			}
		}
		check("ann@example.com", "ann@example.com", "ben@example.com", "cid@example.com", "robot")
		send := func(id string, more map[string]any) {
			t.Helper()
			if w := s.logout(o.sign(logoutClaims(id, more))); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %s", id, w.Code, w.Body)
			}
		}
		send("1", map[string]any{"sid": "s1"})
		check("ann@example.com", "ben@example.com", "cid@example.com", "robot")
		if _, err := s.Verify(t.Context(), ann.access, resource); err == nil {
			t.Error("the token of an ended login is valid")
		}
		status, got := s.refresh(id, ann.refresh)
		isRefused(t, "an ended login", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
		send("2", map[string]any{"sid": "s3", "sub": "ann"}) // the session of another user
		check("ann@example.com", "ben@example.com", "cid@example.com", "robot")
		send("3", map[string]any{"sid": "unknown"})
		check("ann@example.com", "ben@example.com", "cid@example.com", "robot")
		send("4", map[string]any{"sid": "s9", "sub": "cid"}) // the session of that login is not known
		check("ann@example.com", "ben@example.com", "robot")
		send("5", map[string]any{"sub": "ann"})
		check("ben@example.com", "robot")
		var ended []string
		for _, e := range events {
			if e.Kind == EventLogout {
				ended = append(ended, e.User+" "+e.Name+" "+e.Address)
			}
		}
		if want := []string{"ann@example.com 1 192.0.2.1", "cid@example.com 1 192.0.2.1", "ann@example.com 1 192.0.2.1"}; !slices.Equal(ended, want) {
			t.Errorf("events are %q, want %q", ended, want)
		}
	})
}

func TestLogoutTokensThatAreNotValidAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		o.claims["sid"] = "s1"
		o.allowed(s, s.browser("nobody"), s.register("A client", callback))
		_, stranger := newProviderSite(t)
		now := time.Now()
		token := func(more map[string]any, without ...string) string {
			c := logoutClaims("one", map[string]any{"sub": "1234"})
			maps.Copy(c, more)
			for _, name := range without {
				delete(c, name)
			}
			return o.sign(c)
		}
		typed := func(kind string) string {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: o.key, KeyID: "one"}}, new(jose.SignerOptions).WithType(jose.ContentType(kind)))
			if err != nil {
				t.Fatal(err)
			}
			object, err := signer.Sign([]byte(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := object.CompactSerialize()
			return text
		}
		for name, tt := range map[string]struct{ token, want string }{
			"none":                       {"", "expected a signed JWT"},
			"no JWT":                     {"a.b.c", "signature algorithm"},
			"an encrypted one":           {"a.b.c.d.e", "not encrypted"},
			"without a signature":        {"eyJhbGciOiJub25lIn0.e30.", "signature algorithm"},
			"of another signer":          {stranger.sign(logoutClaims("one", map[string]any{"sub": "1234"})), "did not sign it"},
			"of another type":            {typed("at+jwt"), "it has the type"},
			"another issuer":             {token(map[string]any{"iss": "https://evil.example"}), "issued it, not"},
			"another audience":           {token(map[string]any{"aud": "another"}), "not for junction"},
			"no audience":                {token(nil, "aud"), "not for junction"},
			"no time":                    {token(nil, "iat"), "not issued in the last"},
			"an old one":                 {token(map[string]any{"iat": now.Add(-time.Hour).Unix()}), "not issued in the last"},
			"one of the future":          {token(map[string]any{"iat": now.Add(time.Hour).Unix()}), "not issued in the last"},
			"no expiry":                  {token(nil, "exp"), "expired"},
			"expired":                    {token(map[string]any{"exp": now.Add(-2 * time.Minute).Unix()}), "expired"},
			"neither user nor session":   {token(nil, "sub"), "neither a user"},
			"no events":                  {token(nil, "events"), "events has no object"},
			"another event":              {token(map[string]any{"events": map[string]any{"x": map[string]any{}}}), "events has no object"},
			"an event that is no object": {token(map[string]any{"events": map[string]any{logoutEvent: true}}), "events has no object"},
			"events that are a text":     {token(map[string]any{"events": logoutEvent}), "cannot unmarshal"},
			"a nonce":                    {token(map[string]any{"nonce": "n"}), "nonce"},
			"an empty nonce":             {token(map[string]any{"nonce": ""}), "nonce"},
			"no ID":                      {token(nil, "jti"), "jti"},
			"a long ID":                  {token(map[string]any{"jti": strings.Repeat("x", 2_000)}), "jti"},
			"an ID token":                {o.identity(), "events has no object"},
		} {
			if w := s.logout(tt.token); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
		if got := s.names(); len(got) != 1 {
			t.Fatalf("logged in are %q", got)
		}
		for _, kind := range []string{"logout+jwt", "application/logout+jwt", "JWT"} {
			if w := s.logout(typed(kind)); !strings.Contains(w.Body.String(), "issued it, not") { // a later check
				t.Errorf("the type %s: %d %s", kind, w.Code, w.Body)
			}
		}
		// A token is used once, even if the user has logged in again.
		once := token(nil)
		if w := s.logout(once); w.Code != http.StatusOK || len(s.names()) != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		o.allowed(s, s.browser("nobody"), s.register("Another client", callback))
		if w := s.logout(once); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "used before") || len(s.names()) != 1 {
			t.Errorf("again: %d %s", w.Code, w.Body)
		}
		time.Sleep(logoutAge + logoutSkew + time.Second)
		if w := s.logout(once); w.Code != http.StatusBadRequest || len(s.names()) != 1 {
			t.Errorf("much later: %d %s", w.Code, w.Body)
		}
		plain := newSite(t)
		if w := plain.logout(token(nil)); w.Code != http.StatusNotFound {
			t.Errorf("without a provider: %d", w.Code)
		}
	})
}

// Refused tokens of one address do not keep out the provider.
func TestRefusedLogoutTokensAreLimited(t *testing.T) {
	s, o := newProviderSite(t)
	o.allowed(s, s.browser("nobody"), s.register("A client", callback))
	keys := 0
	published := s.web[providerAt+"/keys"]
	s.web[providerAt+"/keys"] = func(w http.ResponseWriter, r *http.Request) { keys++; published(w, r) }
	s.from = "203.0.113.1:1"
	_, stranger := newProviderSite(t)
	last := 0
	for range 200 {
		last = s.logout(stranger.sign(logoutClaims("one", map[string]any{"sub": "1234"}))).Code
	}
	if last != http.StatusTooManyRequests || keys > 2*maxRefusedLogouts {
		t.Errorf("the last one gets %d, and the provider was asked %d times", last, keys)
	}
	s.from = "203.0.113.2:1"
	for n := range 200 {
		if w := s.logout(o.sign(logoutClaims(strings.Repeat("x", n+1), map[string]any{"sub": "1234"}))); w.Code != http.StatusOK {
			t.Fatalf("the provider gets %d %s", w.Code, w.Body)
		}
	}
	if got := s.names(); len(got) != 0 {
		t.Errorf("logged in are %q", got)
	}
}

// A provider that ends many logins at once is served, while its keys are slow to come, and forged
// tokens from elsewhere are limited at the same time.
func TestManyLogoutsAtOnceAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		o.allowed(s, s.browser("nobody"), s.register("A client", callback))
		_, stranger := newProviderSite(t)
		var mu sync.Mutex
		asked, most, asking := 0, 0, 0
		published := s.web[providerAt+"/keys"]
		s.web[providerAt+"/keys"] = func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked++
			asking++
			most = max(most, asking)
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			asking--
			mu.Unlock()
			published(w, r)
		}
		send := func(from, token string) int {
			r := httptest.NewRequest(http.MethodPost, issuer+logoutPath, strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code
		}
		const each = 200
		codes := map[string]map[int]int{"provider": {}, "stranger": {}}
		var all sync.WaitGroup
		for n := range each {
			claims := logoutClaims(strings.Repeat("x", n+1), map[string]any{"sub": "1234"})
			for who, one := range map[string]struct{ from, token string }{"provider": {"203.0.113.2:1", o.sign(claims)}, "stranger": {"203.0.113.1:1", stranger.sign(claims)}} {
				all.Go(func() {
					code := send(one.from, one.token)
					mu.Lock()
					defer mu.Unlock()
					codes[who][code]++
				})
			}
		}
		all.Wait()
		if want := map[int]int{http.StatusOK: each}; !maps.Equal(codes["provider"], want) {
			t.Errorf("the provider gets %v, want %v", codes["provider"], want)
		}
		if want := map[int]int{http.StatusBadRequest: maxRefusedLogouts, http.StatusTooManyRequests: each - maxRefusedLogouts}; !maps.Equal(codes["stranger"], want) {
			t.Errorf("the stranger gets %v, want %v", codes["stranger"], want)
		}
		if asked > 2*maxRefusedLogouts+1 || most > maxCheckedLogouts {
			t.Errorf("the provider was asked for its keys %d times, %d times at once", asked, most)
		}
	})
}
