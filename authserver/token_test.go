package authserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/mcp/auth"
)

// text returns a token of parts that need not be valid.
func text(t *testing.T, header, claims any, signature []byte) string {
	t.Helper()
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return part(header) + "." + part(claims) + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestForgedTokensAreRefused(t *testing.T) {
	s := newSite(t)
	l := s.login("ann", "scope", "read write")
	good, err := s.claims(t.Context(), l.access)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.signing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := all[0]
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key any, algorithm jose.SignatureAlgorithm, id, kind string, c any, extra ...string) string {
		t.Helper()
		options := new(jose.SignerOptions).WithType(jose.ContentType(kind))
		for i := 0; i < len(extra); i += 2 {
			options = options.WithHeader(jose.HeaderKey(extra[i]), extra[i+1])
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, options)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		object, err := signer.Sign(body)
		if err != nil {
			t.Fatal(err)
		}
		token, err := object.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	change := func(f func(*claims)) claims {
		c := *good
		f(&c)
		return c
	}
	published, err := json.Marshal(public(all))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(l.access, ".")
	g := s.guard(resource)
	if err := lets(g, sign(own.key, jose.ES256, own.ID, tokenType, good)); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"of no algorithm":                 text(t, map[string]any{"alg": "none", "typ": tokenType, "kid": own.ID}, good, nil),
		"of no algorithm, shouted":        text(t, map[string]any{"alg": "NoNe", "typ": tokenType, "kid": own.ID}, good, nil),
		"with the public key as a secret": sign(published, jose.HS256, own.ID, tokenType, good),
		"of somebody else's key":          sign(foreign, jose.ES256, own.ID, tokenType, good),
		"with a key that it names":        sign(foreign, jose.ES256, "../../keys", tokenType, good),
		"with a key of its own place":     sign(foreign, jose.ES256, own.ID, tokenType, good, "jku", "https://evil.example/keys"),
		"with no name of a key":           sign(own.key, jose.ES256, "", tokenType, good),
		"of another type":                 sign(own.key, jose.ES256, own.ID, "JWT", good),
		"of another issuer":               sign(own.key, jose.ES256, own.ID, tokenType, change(func(c *claims) { c.Issuer = "https://evil.example" })),
		"for another audience":            sign(own.key, jose.ES256, own.ID, tokenType, change(func(c *claims) { c.Audience = other })),
		"that expired":                    sign(own.key, jose.ES256, own.ID, tokenType, change(func(c *claims) { c.Expires = time.Now().Add(-time.Second).Unix() })),
		"of a login that is not there":    sign(own.key, jose.ES256, own.ID, tokenType, change(func(c *claims) { c.Grant = "another" })),
		"of a part of another":            parts[0] + "." + parts[1] + "." + strings.Split(sign(own.key, jose.ES256, own.ID, tokenType, change(func(c *claims) { c.Subject = "ben" })), ".")[2],
		"that is a refresh token":         l.refresh,
		"that is nothing":                 "x.y.z",
	} {
		if err := lets(g, token); err == nil {
			t.Errorf("a token %s is taken", name)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, resource+"?access_token="+l.access, nil)
	if _, err := g.Principal(r); err == nil {
		t.Error("a token in the URL is taken")
	}
}

// Other servers check tokens with the published keys, like package auth. Keys change over time.
func TestTokensAreCheckedWithThePublishedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(o *Options) { o.TokenTime = 12 * time.Hour })
		verifier := auth.JWT(auth.JWTOptions{Issuer: issuer, HTTP: &http.Client{Transport: s}})
		check := func(token string, ok bool) {
			t.Helper()
			if _, err := verifier.Verify(t.Context(), token, resource); (err == nil) != ok {
				t.Errorf("checked: %v", err)
			}
		}
		old := s.login("ann")
		check(old.access, true)
		time.Sleep(keyTime - time.Minute)
		status, got := s.refresh(old.client, old.refresh)
		last := s.tokensIn(old.client, status, got)
		time.Sleep(time.Hour)
		status, got = s.refresh(old.client, last.refresh)
		next := s.tokensIn(old.client, status, got)
		keyOf := func(token string) string {
			object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
			if err != nil {
				t.Fatal(err)
			}
			return object.Signatures[0].Header.KeyID
		}
		if keyOf(last.access) != keyOf(old.access) || keyOf(next.access) == keyOf(last.access) {
			t.Error("the keys did not change when they should")
		}
		check(last.access, true)
		check(next.access, true)
		if _, err := s.Verify(t.Context(), last.access, resource); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * keyTime)
		s.login("ann")
		if all, err := s.signing(t.Context()); err != nil || len(all) > 2 {
			t.Errorf("%d keys, %v", len(all), err)
		}
	})
}

// Two processes with one store share their keys, clients and logins.
func TestServersShareAStore(t *testing.T) {
	s := newSite(t)
	twin := newSite(t, func(o *Options) { o.Store, o.Users = s.store, s.users })
	l := s.login("ann")
	if err := lets(twin.guard(resource), l.access); err != nil {
		t.Error(err)
	}
	status, got := twin.refresh(l.client, l.refresh)
	l = twin.tokensIn(l.client, status, got)
	if err := lets(s.guard(resource), l.access); err != nil {
		t.Error(err)
	}
	stranger := newSite(t, func(o *Options) { o.Key = []byte(strings.Repeat("x", 32)) })
	if err := lets(stranger.guard(resource), l.access); err == nil {
		t.Error("a server with another store takes the token")
	}
}

// The stored data contains no usable token, code, session or key.
func TestStoredValuesAreSealed(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	ann := s.browser("ann")
	code := s.code(ann, ask(id, callback), callback)
	unused := s.code(ann, ask(id, callback), callback)
	status, got := s.redeem(id, callback, code)
	l := s.tokensIn(id, status, got)
	all, err := s.signing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"a code": unused, "a used code": code, "an access token": l.access, "a refresh token": l.refresh, "a password": password, "a key": string(all[0].DER), "a key as JSON": base64.StdEncoding.EncodeToString(all[0].DER)}
	page, err := ann.Get(t.Context(), ask(id, callback))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ann.Cookies(page.URL) {
		secrets["the cookie "+c.Name] = c.Value
	}
	entries, err := s.store.List(t.Context(), "", "", 1_000)
	if err != nil || len(entries) < 6 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		for name, secret := range secrets {
			if strings.Contains(e.Key, secret) || bytes.Contains(e.Value, []byte(secret)) {
				t.Errorf("%s has %s", e.Key, name)
			}
		}
	}
}

func TestTheMetadataIsWhereClientsLook(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{metadataPath, openIDPath} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, issuer+path, nil)
		_, got := s.send(req)
		for name, want := range map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + authorizePath, "registration_endpoint": issuer + registerPath, "client_id_metadata_document_supported": true,
			"authorization_response_iss_parameter_supported": true,
		} {
			if got[name] != want {
				t.Errorf("%s: %s: %v", path, name, got[name])
			}
		}
		for name, want := range map[string]string{
			"code_challenge_methods_supported": `["S256"]`, "dpop_signing_alg_values_supported": `["ES256","ES384","EdDSA","PS256","RS256"]`,
			"token_endpoint_auth_methods_supported": `["none","private_key_jwt"]`, "revocation_endpoint_auth_methods_supported": `["none","private_key_jwt"]`,
			"token_endpoint_auth_signing_alg_values_supported":      `["ES256","ES384","ES512","RS256","RS384","RS512","PS256","PS384","PS512","EdDSA"]`,
			"revocation_endpoint_auth_signing_alg_values_supported": `["ES256","ES384","ES512","RS256","RS384","RS512","PS256","PS384","PS512","EdDSA"]`,
		} {
			if all := encoded(t, got[name]); all != want {
				t.Errorf("%s: %s: %s", path, name, all)
			}
		}
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://evil.example"+metadataPath, nil)
	if status, got := s.send(req); status != http.StatusForbidden {
		t.Errorf("under another name: %d %v", status, got)
	}
}

// Web pages of allowed origins can request tokens; others cannot, and none can use the pages of a
// user.
func TestWebPagesAskForTokensWhereTheyMay(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Origins = []string{"https://inspector.example"} })
	for _, test := range []struct {
		method, path, origin string
		status               int
		allowed              string
	}{
		{http.MethodOptions, tokenPath, "https://inspector.example", http.StatusNoContent, "https://inspector.example"},
		{http.MethodPost, tokenPath, "https://inspector.example", http.StatusBadRequest, "https://inspector.example"},
		{http.MethodPost, tokenPath, "https://evil.example", http.StatusForbidden, ""},
		{http.MethodOptions, registerPath, "https://evil.example", http.StatusForbidden, ""},
		{http.MethodGet, metadataPath, "", http.StatusOK, "*"},
		{http.MethodOptions, consentPath, "https://inspector.example", http.StatusMethodNotAllowed, ""},
	} {
		req := httptest.NewRequestWithContext(t.Context(), test.method, issuer+test.path, nil)
		if test.origin != "" {
			req.Header.Set("Origin", test.origin)
		}
		response, err := s.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != test.status || response.Header.Get("Access-Control-Allow-Origin") != test.allowed || response.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s of %s: %d %v %s", test.method, test.path, test.origin, response.StatusCode, response.Header, body)
		}
	}
}
