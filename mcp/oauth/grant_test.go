package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestTokensThatAreBoundGoWithAFreshProof(t *testing.T) {
	for name, nonces := range map[string]bool{"without nonces": false, "with nonces of both servers": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.proofs, s.nonces = true, nonces
			now := time.Now()
			c := s.client(&now)
			for range 3 {
				for range 3 {
					if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
						t.Fatalf("%d, %v", status, err)
					}
				}
				now = now.Add(time.Hour)
			}
			if l, err := c.LoginOf(t.Context(), s.URL+"/mcp"); err != nil || !l.Bound {
				t.Errorf("%+v, %v", l, err)
			}
			if s.visits != 1 || s.refreshes != 2 {
				t.Errorf("%d visits, %d refreshes", s.visits, s.refreshes)
			}
		})
	}
	s := newSite(t)
	s.proofs, s.issuer = true, map[string]any{"dpop_signing_alg_values_supported": []string{"RS256"}}
	if _, err := s.get(s.client(nil), "/mcp"); err == nil || !strings.Contains(err.Error(), "not with ES256") {
		t.Errorf("proofs of another algorithm: %v", err)
	}
}

func TestAClientActsForItself(t *testing.T) {
	s := newSite(t)
	now := time.Now()
	c := New(Options{Grant: ClientCredentials(), Registered: func(issuer string) (Registration, bool) {
		return Registration{ID: "machine", Secret: "its secret"}, issuer == s.URL
	}})
	c.now = func() time.Time { return now }
	for range 3 {
		if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
			t.Errorf("%d, %v", status, err)
		}
		now = now.Add(time.Hour)
	}
	if s.visits+s.registers+s.refreshes != 0 {
		t.Errorf("%d visits, %d registrations, %d refreshes", s.visits, s.registers, s.refreshes)
	}
	c = New(Options{Grant: ClientCredentials()})
	if _, err := s.get(c, "/mcp"); !errors.Is(err, errUnregistered) {
		t.Errorf("who is not registered: %v", err)
	}
}

func TestUsersOfAnOrganizationLogIn(t *testing.T) {
	s := newSite(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		want := map[string]string{
			"requested_token_type": typeGrant, "subject_token": "who the user is", "subject_token_type": typeIdentity,
			"audience": s.URL, "resource": s.URL + "/mcp", "scope": "read", "client_id": "at the provider",
		}
		for name, value := range want {
			if r.PostForm.Get(name) != value {
				http.Error(w, `{"error":"invalid_request","error_description":"`+name+`"}`, http.StatusBadRequest)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"a statement","issued_token_type":"` + typeGrant + `","token_type":"N_A"}`))
	}))
	defer provider.Close()
	identity := "who the user is"
	c := New(Options{
		Grant: Enterprise(IdentityProvider{Issuer: provider.URL, Token: provider.URL, Client: Registration{ID: "at the provider"},
			Identity: func(context.Context) (string, error) { return identity, nil }}),
		Registered: func(string) (Registration, bool) { return Registration{ID: "machine", Secret: "its secret"}, true },
	})
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	identity = "somebody else"
	s.tokens, s.refresh = map[string]string{}, ""
	if _, err := s.get(c, "/mcp"); err == nil || !strings.Contains(err.Error(), "subject_token") {
		t.Errorf("a user whom the provider does not know: %v", err)
	}
}

func TestClientsSignAssertions(t *testing.T) {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &issuer{Issuer: "https://as.example"}
	for _, test := range []struct {
		name  string
		r     Registration
		taken []string
		want  jose.SignatureAlgorithm
		fault string
	}{
		{"ECDSA", Registration{Key: p256, KeyID: "k"}, nil, jose.ES256, ""},
		{"RSA", Registration{Key: rsaKey}, nil, jose.RS256, ""},
		{"RSA with PSS where it is taken", Registration{Key: rsaKey}, []string{"RS256", "PS256"}, jose.PS256, ""},
		{"Ed25519", Registration{Key: edKey}, []string{"EdDSA"}, jose.EdDSA, ""},
		{"an algorithm that is not taken", Registration{Key: p256}, []string{"RS256"}, "", "accepts [\"RS256\"]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.r.ID, of.Algorithms = "client", test.taken
			now := time.Now()
			text, err := test.r.assertion(of, now)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%v, want %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			object, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{test.want})
			if err != nil {
				t.Fatal(err)
			}
			payload, err := object.Verify(test.r.Key.Public())
			var claims struct {
				Iss, Sub, Aud, Jti string
				Exp                int64
			}
			if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Iss != "client" || claims.Sub != "client" || claims.Aud != of.Issuer || claims.Jti == "" || claims.Exp <= now.Unix() {
				t.Errorf("%s, %v", payload, err)
			}
			if object.Signatures[0].Header.KeyID != test.r.KeyID {
				t.Errorf("the key is called %q", object.Signatures[0].Header.KeyID)
			}
		})
	}
}

func TestAUsersTokenIsExchangedAndNeverPassedOn(t *testing.T) {
	const own = "t0ken-of-ada"
	registered := func(string) (Registration, bool) { return Registration{ID: "machine", Secret: "its secret"}, true }
	asker := func(token string, err error) *Client {
		return New(Options{Registered: registered, Grant: TokenExchange(func(context.Context, Asked) (string, error) { return token, err })})
	}
	s := newSite(t)
	var asked []string
	s.answer = func(form url.Values) map[string]any {
		asked = append(asked, form.Get("subject_token")+", "+form.Get("subject_token_type")+", "+form.Get("requested_token_type")+", "+strings.TrimPrefix(form.Get("resource"), s.URL)+", "+form.Get("scope"))
		return map[string]any{"issued_token_type": typeAccess, "refresh_token": nil}
	}
	c := asker(own, nil)
	now := time.Now()
	c.now = func() time.Time { return now }
	for range 3 {
		if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
			t.Errorf("%d, %v", status, err)
		}
		now = now.Add(time.Hour) // the token expires, and the user's token is exchanged again
	}
	want := own + ", " + typeAccess + ", " + typeAccess + ", /mcp, read"
	if len(asked) != 3 || asked[0] != want {
		t.Errorf("asked for %q, want three times %q", asked, want)
	}
	if s.visits != 0 || s.registers != 0 {
		t.Errorf("%d visits, %d registrations", s.visits, s.registers)
	}
	other := asker("another user's token", nil) // shares nothing with the first user
	if status, err := s.get(other, "/mcp"); status != http.StatusOK || err != nil || len(asked) != 4 || !strings.HasPrefix(asked[3], "another") {
		t.Errorf("another user: %d, %v, %q", status, err, asked)
	}

	s.answer = func(url.Values) map[string]any { return map[string]any{"access_token": own} }
	if _, err := s.get(asker(own, nil), "/mcp"); err == nil || !strings.Contains(err.Error(), "returned the user's own token") || strings.Contains(err.Error(), own) {
		t.Errorf("an authorization server that exchanges nothing: %v", err)
	}
	gone := errors.New("the user has gone")
	if _, err := s.get(asker("", gone), "/mcp"); !errors.Is(err, gone) {
		t.Errorf("nobody: %v", err)
	}
	if slices.Contains(s.sent, own) {
		t.Errorf("the server got the user's own token: %q", s.sent)
	}
}
