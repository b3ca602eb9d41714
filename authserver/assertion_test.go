package authserver

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
)

// A signer is a client that signs assertions.
type signer struct {
	t   *testing.T
	id  string
	key *ecdsa.PrivateKey
	kid string
}

// set returns the published keys of the client.
func (c signer) set() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: c.key.Public(), KeyID: c.kid, Algorithm: "ES256", Use: "sig"}}}
}

// signs returns the parameters of a request that the client signs, with changes of the claims; -
// removes one.
func (c signer) signs(changes map[string]any) []string {
	c.t.Helper()
	return c.signsIn(map[jose.HeaderKey]any{jose.HeaderType: "JWT", "kid": c.kid}, changes)
}

func (c signer) claims(changes map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{"iss": c.id, "sub": c.id, "aud": issuer, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == "-" })
	return claims
}

func (c signer) signsIn(header map[jose.HeaderKey]any, changes map[string]any) []string {
	c.t.Helper()
	return asserts(signed(c.t, jose.ES256, c.key, header, c.claims(changes)))
}

func asserts(assertion string) []string {
	return []string{"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion", assertion}
}

// keyed adds a client that signs: it registers, or publishes a document, with its keys or their
// URL.
func (s *site) keyed(isDocument, isElsewhere bool) signer {
	s.t.Helper()
	c := signer{s.t, documentAt, newTestKey(s.t), "first"}
	said := map[string]any{"client_name": "A client", "redirect_uris": []string{siteCallback}, "token_endpoint_auth_method": "private_key_jwt"}
	if isElsewhere {
		said["jwks_uri"] = keysAt
		s.publish(keysAt, encoded(s.t, c.set()))
	} else {
		said["jwks"] = c.set()
	}
	if isDocument {
		said["client_id"] = c.id
		s.publish(c.id, encoded(s.t, said))
		return c
	}
	status, got := s.post(registerPath, said)
	if status != http.StatusCreated || got["token_endpoint_auth_method"] != "private_key_jwt" || (got["jwks_uri"] == keysAt) != isElsewhere || (got["jwks"] != nil) == isElsewhere {
		s.t.Fatalf("registered: %d %v", status, got)
	}
	c.id, _ = got["client_id"].(string)
	return c
}

const keysAt = "https://app.example/keys.json"

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// logsIn logs ann in with a client that signs.
func (c signer) logsIn(s *site) in {
	c.t.Helper()
	status, got := s.redeem(c.id, siteCallback, s.code(s.browser("ann"), ask(c.id, siteCallback), siteCallback), c.signs(nil)...)
	return s.tokensIn(c.id, status, got)
}

func TestClientsSignAssertions(t *testing.T) {
	for name, test := range map[string]struct{ isDocument, isElsewhere bool }{
		"registered": {}, "registered with the place of its keys": {false, true}, "with a document": {true, false}, "with a document that names the place of its keys": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c := s.keyed(test.isDocument, test.isElsewhere)
			code := s.code(s.browser("ann"), ask(c.id, siteCallback), siteCallback)
			status, got := s.redeem(c.id, siteCallback, code)
			isRefused(t, "a code without a signature", status, got, 401, "invalid_client", "it is missing")
			status, got = s.redeem("", siteCallback, code, c.signs(nil)...) // client_id is optional
			l := s.tokensIn(c.id, status, got)
			status, got = s.refresh(c.id, l.refresh)
			isRefused(t, "a refresh without a signature", status, got, 401, "invalid_client", "it is missing")
			for what, audience := range map[string]any{"the token endpoint": issuer + tokenPath, "both names of the server": []string{issuer, issuer + tokenPath}} {
				status, got = s.refresh(c.id, l.refresh, c.signs(map[string]any{"aud": audience})...)
				if l = s.tokensIn(c.id, status, got); t.Failed() {
					t.Error(what)
				}
			}
			revoke := url.Values{"client_id": {c.id}, "token": {l.refresh}}
			status, got = s.post(revokePath, revoke)
			isRefused(t, "the end of a login without a signature", status, got, 401, "invalid_client", "it is missing")
			for i, pair := 0, c.signs(nil); i < len(pair); i += 2 {
				revoke.Set(pair[i], pair[i+1])
			}
			if status, got = s.post(revokePath, revoke); status != http.StatusOK {
				t.Errorf("revoked: %d %v", status, got)
			}
			status, got = s.refresh(c.id, l.refresh, c.signs(nil)...)
			isRefused(t, "after the end", status, got, 400, "invalid_grant", "the login has ended")
		})
	}
}

func TestAssertionsThatDoNotHoldAreRefusedAndUseNothingUp(t *testing.T) {
	s := newSite(t)
	c := s.keyed(false, false)
	foreign := s.keyed(true, false)
	public := s.register("One without a key", callback)
	eve := signer{t, c.id, newTestKey(t), c.kid}
	used := c.signs(nil)
	code := s.code(s.browser("ann"), ask(c.id, siteCallback), siteCallback)
	status, got := s.redeem(c.id, siteCallback, code, used...)
	l := s.tokensIn(c.id, status, got)
	code = s.code(s.browser("ann"), ask(c.id, siteCallback), siteCallback)

	own := encoded(t, c.set().Keys[0])
	header := map[string]any{"typ": "JWT", "kid": c.kid}
	with := func(name string, value any) map[string]any {
		h := maps.Clone(header)
		h[name] = value
		return h
	}
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for name, test := range map[string]struct {
		change []string
		why    string
	}{
		"for another audience":            {c.signs(map[string]any{"aud": "https://evil.example"}), "(aud), expected " + issuer},
		"for another audience, too":       {c.signs(map[string]any{"aud": []string{issuer, "https://evil.example"}}), "(aud), expected " + issuer},
		"for a resource here":             {c.signs(map[string]any{"aud": resource}), "(aud), expected " + issuer},
		"for a server of a longer name":   {c.signs(map[string]any{"aud": issuer + ".evil.example"}), "(aud), expected " + issuer},
		"for nobody":                      {c.signs(map[string]any{"aud": "-"}), "(aud), expected " + issuer},
		"of no algorithm":                 {asserts(text(t, with("alg", "none"), c.claims(nil), nil)), "signed with one of ES256"},
		"of no algorithm, shouted":        {asserts(text(t, with("alg", "NONE"), c.claims(nil), nil)), "signed with one of ES256"},
		"with the public key as a secret": {asserts(signed(t, jose.HS256, []byte(own), nil, c.claims(nil))), "signed with one of ES256"},
		"of another key":                  {eve.signs(nil), "not signed with a key of the client"},
		"of another key, shown":           {eve.signsIn(map[jose.HeaderKey]any{"kid": c.kid, "jwk": jose.JSONWebKey{Key: eve.key.Public()}}, nil), "not signed with a key of the client"},
		"of another key, at a place":      {eve.signsIn(map[jose.HeaderKey]any{"kid": c.kid, "jku": "https://evil.example/keys", "x5u": "https://evil.example/x"}, nil), "not signed with a key of the client"},
		"of a key by its path":            {eve.signsIn(map[jose.HeaderKey]any{"kid": "../../../dev/null"}, nil), `the client has no key "../../../dev/null"`},
		"of a key by a query":             {eve.signsIn(map[jose.HeaderKey]any{"kid": "x' OR '1'='1"}, nil), "the client has no key"},
		"of another client's key":         {signer{t, c.id, foreign.key, foreign.kid}.signs(nil), "not signed with a key of the client"},
		"of another client":               {foreign.signs(nil), "iss, sub and client_id must be the same client"},
		"of a client for another":         {c.signs(map[string]any{"iss": foreign.id}), "iss, sub and client_id must be the same client"},
		"of a client without a key":       {c.signs(map[string]any{"iss": public, "sub": public}), "not registered with private_key_jwt"},
		"of no client":                    {c.signs(map[string]any{"iss": "-", "sub": "-"}), "unknown"},
		"of an unknown client":            {c.signs(map[string]any{"iss": "nobody", "sub": "nobody"}), "unknown"},
		"that is an access token":         {c.signsIn(map[jose.HeaderKey]any{jose.HeaderType: tokenType, "kid": c.kid}, nil), "its type is"},
		"that is a proof":                 {c.signsIn(map[jose.HeaderKey]any{jose.HeaderType: "dpop+jwt", "kid": c.kid}, nil), "its type is"},
		"that expired":                    {c.signs(map[string]any{"exp": at(-jws.Skew - time.Second)}), "(exp)"},
		"that never expires":              {c.signs(map[string]any{"exp": "-"}), "(exp)"},
		"that holds for long":             {c.signs(map[string]any{"exp": at(assertionTime + 2*jws.Skew)}), "is valid for longer than 10m0s (exp)"},
		"of the future":                   {c.signs(map[string]any{"nbf": at(2 * jws.Skew)}), "(nbf, iat)"},
		"that was made in the future":     {c.signs(map[string]any{"iat": at(2 * jws.Skew)}), "(nbf, iat)"},
		"without an id":                   {c.signs(map[string]any{"jti": "-"}), "(jti)"},
		"with a long id":                  {c.signs(map[string]any{"jti": strings.Repeat("x", jws.MaxID+1)}), "(jti)"},
		"that is long":                    {c.signs(map[string]any{"x": strings.Repeat("x", maxAssertion)}), "up to 8 KiB"},
		"that is nothing":                 {asserts("x.y.z"), "expected a JWT"},
		"whose claims are none":           {asserts(signed(t, jose.ES256, c.key, nil, []string{"x"})), "its claims"},
		"with a secret":                   {append(c.signs(nil)[:2], "client_secret", "x"), "no secrets"},
	} {
		status, got := s.redeem(c.id, siteCallback, code, test.change...)
		isRefused(t, "a code with an assertion "+name, status, got, 401, "invalid_client", test.why)
		status, got = s.refresh(c.id, l.refresh, test.change...)
		isRefused(t, "a refresh with an assertion "+name, status, got, 401, "invalid_client", test.why)
	}
	status, got = s.refresh(c.id, l.refresh, used...)
	isRefused(t, "an assertion that was used", status, got, 401, "invalid_client", "used before (jti)")
	twin := newSite(t, func(o *Options) { o.Store, o.Users = s.store, s.users })
	status, got = twin.refresh(c.id, l.refresh, used...)
	isRefused(t, "an assertion that was used at another process", status, got, 401, "invalid_client", "used before (jti)")
	status, got = s.post(revokePath, url.Values{"token": {l.refresh}, used[0]: {used[1]}, used[2]: {used[3]}})
	isRefused(t, "the end of a login with an assertion that was used", status, got, 401, "invalid_client", "used before (jti)")
	status, got = s.refresh(c.id, l.refresh, append(used[:2:2], "client_assertion_type", "saml", "client_assertion", used[3])...)
	isRefused(t, "an assertion of another kind", status, got, 400, "invalid_request", "client_assertion_type")

	status, got = s.redeem(c.id, siteCallback, code, c.signs(nil)...)
	s.tokensIn(c.id, status, got)
	status, got = s.refresh(c.id, l.refresh, c.signs(nil)...)
	s.tokensIn(c.id, status, got)
}

// An assertion can be used once while it is valid, and is removed when it expires.
func TestAnAssertionIsRememberedForAsLongAsItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		c := s.keyed(false, false)
		l := c.logsIn(s)
		time.Sleep(2 * time.Minute)
		long := c.signs(map[string]any{"exp": time.Now().Add(assertionTime).Unix()})
		status, got := s.refresh(c.id, l.refresh, long...)
		l = s.tokensIn(c.id, status, got)
		time.Sleep(assertionTime + jws.Skew - time.Second)
		status, got = s.refresh(c.id, l.refresh, long...)
		isRefused(t, "in its last second", status, got, 401, "invalid_client", "used before (jti)")
		time.Sleep(time.Second)
		status, got = s.refresh(c.id, l.refresh, long...)
		isRefused(t, "after it", status, got, 401, "invalid_client", "(exp)")
		if kept, err := s.store.List(t.Context(), usedPrefix, "", 10); err != nil || len(kept) != 0 {
			t.Errorf("%d are kept, %v", len(kept), err)
		}
	})
}

// Refresh tokens of a client that signs are bound to the client, whatever key its access tokens are
// bound to (RFC 9449 section 5).
func TestAClientThatSignsChangesTheKeyOfItsTokens(t *testing.T) {
	s := newSite(t)
	ada, next := holder{t, newTestKey(t)}, holder{t, newTestKey(t)}
	c := s.keyed(false, false)
	status, got := s.with(ada.proof(nil)).redeem(c.id, siteCallback, s.code(s.browser("ann"), ask(c.id, siteCallback), siteCallback), c.signs(nil)...)
	l := s.tokensOf("DPoP", c.id, status, got)
	status, got = s.with(next.proof(nil)).refresh(c.id, l.refresh, c.signs(nil)...)
	l = s.tokensOf("DPoP", c.id, status, got)
	if token, err := s.Verify(t.Context(), l.access, resource); err != nil || token.Thumbprint != next.thumbprint() {
		t.Errorf("the token says %+v, %v", token, err)
	}
	status, got = s.refresh(c.id, l.refresh, c.signs(nil)...)
	if l = s.tokensIn(c.id, status, got); lets(s.guard(resource), l.access) != nil {
		t.Error("a token that is not bound any more is refused")
	}
}

func TestKeysThatAClientPublishesMayChange(t *testing.T) {
	for name, isElsewhere := range map[string]bool{"in its document": false, "in a place of their own": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				c := s.keyed(true, isElsewhere)
				c.t = t
				l := c.logsIn(s)
				at := map[bool]string{false: documentAt, true: keysAt}[isElsewhere]
				reads, publish := 0, s.web[at]
				s.web[at] = func(w http.ResponseWriter, r *http.Request) { reads++; publish(w, r) }
				stranger := signer{t, c.id, newTestKey(t), "second"}
				for range 3 { // an unknown key causes another read once a minute
					status, got := s.refresh(c.id, l.refresh, stranger.signs(nil)...)
					isRefused(t, "a key that is not there", status, got, 401, "invalid_client", "no key")
				}
				if reads != 0 {
					t.Errorf("keys that were just read are read %d times", reads)
				}
				time.Sleep(badDocumentTime)
				for range 3 {
					status, got := s.refresh(c.id, l.refresh, stranger.signs(nil)...)
					isRefused(t, "a key that is not there", status, got, 401, "invalid_client", "no key")
				}
				if reads != 1 {
					t.Errorf("they are read %d times in a minute", reads)
				}
				time.Sleep(badDocumentTime)
				old := c
				c.key, c.kid = newTestKey(t), "second"
				if isElsewhere {
					s.publish(keysAt, encoded(t, c.set()))
				} else {
					s.publish(documentAt, encoded(t, map[string]any{"client_id": c.id, "redirect_uris": []string{siteCallback}, "token_endpoint_auth_method": "private_key_jwt", "jwks": c.set()}))
				}
				status, got := s.refresh(c.id, l.refresh, c.signs(nil)...)
				l = s.tokensIn(c.id, status, got)
				status, got = s.refresh(c.id, l.refresh, old.signs(nil)...)
				isRefused(t, "a key that is gone", status, got, 401, "invalid_client", "no key")

				s.web[at] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
				time.Sleep(documentTime)
				status, got = s.refresh(c.id, l.refresh, c.signs(nil)...) // as they were
				l = s.tokensIn(c.id, status, got)
				time.Sleep(oldDocumentTime)
				status, got = s.refresh(c.id, l.refresh, c.signs(nil)...)
				isRefused(t, "keys that cannot be read for long", status, got, 503, "server_error", "cannot be done now")
			})
		})
	}
}

// By default keys are not read from this machine or private networks.
func TestKeysOfClientsAreNotReadFromPrivatePlaces(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Documents = nil })
	for _, at := range []string{"https://127.0.0.1/keys", "https://localhost/keys", "https://10.0.0.1/keys", "https://169.254.169.254/latest", "https://[fd00::1]/keys"} {
		if _, err := s.readKeySet(t.Context(), at); err == nil || !strings.Contains(err.Error(), "this machine") && !strings.Contains(err.Error(), "not on the internet") {
			t.Errorf("%s: %v", at, err)
		}
	}
	s = newSite(t)
	s.publish(keysAt, strings.Repeat(" ", maxClientText+1))
	if _, err := s.readKeySet(t.Context(), keysAt); err == nil || !strings.Contains(err.Error(), "more than 16 KiB") {
		t.Errorf("many: %v", err)
	}
	s.publish(keysAt, "<html>")
	if _, err := s.readKeySet(t.Context(), keysAt); err == nil || !strings.Contains(err.Error(), "the client's keys at "+keysAt) {
		t.Errorf("none: %v", err)
	}
}

func TestRegistrationsOfKeysThatCannotBeUsedAreRefused(t *testing.T) {
	s := newSite(t)
	own := signer{t, "", newTestKey(t), "k"}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip(err)
	}
	set := func(keys ...jose.JSONWebKey) any { return jose.JSONWebKeySet{Keys: keys} }
	for name, test := range map[string]struct {
		said map[string]any
		why  string
	}{
		"none":           {map[string]any{}, "either jwks or jwks_uri"},
		"nothing":        {map[string]any{"jwks": nil}, "either jwks or jwks_uri"},
		"both":           {map[string]any{"jwks": own.set(), "jwks_uri": keysAt}, "either jwks or jwks_uri"},
		"not encrypted":  {map[string]any{"jwks_uri": "http://app.example/keys"}, "https URL"},
		"a file":         {map[string]any{"jwks_uri": "file:///etc/passwd"}, "https URL"},
		"with a user":    {map[string]any{"jwks_uri": "https://a:b@app.example/keys"}, "https URL"},
		"an empty set":   {map[string]any{"jwks": set()}, "jwks: expected a public key"},
		"a private key":  {map[string]any{"jwks": set(jose.JSONWebKey{Key: own.key})}, "jwks: expected a public key"},
		"a secret":       {map[string]any{"jwks": set(jose.JSONWebKey{Key: []byte("a secret of both sides, of many bytes")})}, "jwks: expected a public key"},
		"a small key":    {map[string]any{"jwks": set(jose.JSONWebKey{Key: small.Public()})}, "2048 bits"},
		"something else": {map[string]any{"jwks": "x"}, "jwks"},
	} {
		test.said["redirect_uris"], test.said["token_endpoint_auth_method"] = []string{callback}, "private_key_jwt"
		status, got := s.post(registerPath, test.said)
		isRefused(t, name, status, got, 400, "invalid_client_metadata", test.why)
	}
	alone := newSite(t, func(o *Options) { o.RegisteredOnly = true })
	status, got := alone.post(registerPath, map[string]any{"redirect_uris": []string{callback}, "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": keysAt})
	isRefused(t, "a place where nothing is read", status, got, 400, "invalid_client_metadata", "send the keys themselves")
}

func TestTokensEndedBeforeTheirUseIsNotedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		for _, holds := range []time.Duration{-time.Hour, 0, time.Millisecond} {
			name := "assertion " + holds.String()
			for _, want := range []bool{true, false} {
				if isNew, err := s.once(t.Context(), name, holds); err != nil || isNew != want {
					t.Errorf("%v: new %t, %v; expected %t", holds, isNew, err, want)
				}
			}
		}
		time.Sleep(2 * time.Second)
		if kept, err := s.store.List(t.Context(), usedPrefix, "", 10); err != nil || len(kept) != 0 {
			t.Errorf("%d are kept, %v", len(kept), err)
		}
	})
}
