package authserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/mcp/auth"
)

func newTestKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signed returns a JWT whose header has additional members.
func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, header map[jose.HeaderKey]any, claims any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims)
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

// A holder has a key that tokens are bound to.
type holder struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func (h holder) thumbprint() string {
	h.t.Helper()
	sum, err := (&jose.JSONWebKey{Key: h.key.Public()}).Thumbprint(crypto.SHA256)
	if err != nil {
		h.t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// proof returns a proof for the token endpoint with changes of its claims; - removes one.
func (h holder) proof(changes map[string]any) string {
	h.t.Helper()
	return h.proofIn(map[jose.HeaderKey]any{jose.HeaderType: "dpop+jwt", "jwk": jose.JSONWebKey{Key: h.key.Public()}}, changes)
}

func (h holder) proofIn(header map[jose.HeaderKey]any, changes map[string]any) string {
	h.t.Helper()
	claims := map[string]any{"jti": rand.Text(), "htm": "POST", "htu": issuer + tokenPath, "iat": time.Now().Unix()}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == "-" })
	return signed(h.t, jose.ES256, h.key, header, claims)
}

// with returns the site with proofs in its requests.
func (s *site) with(proofs ...string) *site {
	copied := *s
	copied.header = http.Header{"Dpop": proofs}
	return &copied
}

// sends returns the result of a guard for a request with a token, sent with a scheme, and a proof
// for it.
func (h holder) sends(g *auth.Guard, scheme, token string, changes map[string]any) error {
	h.t.Helper()
	claims := map[string]any{"htu": resource, "ath": base64.RawURLEncoding.EncodeToString(sha(token))}
	maps.Copy(claims, changes)
	return sendsProof(g, scheme, token, h.proof(claims))
}

func sendsProof(g *auth.Guard, scheme, token, proof string) error {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, resource, nil)
	r.Header.Set("Authorization", scheme+" "+token)
	r.Header.Set("DPoP", proof)
	_, err := g.Principal(r)
	return err
}

func sha(text string) []byte {
	h := crypto.SHA256.New()
	h.Write([]byte(text))
	return h.Sum(nil)
}

func TestAProofBindsTokensToItsKey(t *testing.T) {
	s := newSite(t)
	ada, eve := holder{t, newTestKey(t)}, holder{t, newTestKey(t)}
	id := s.register("A client", callback)
	status, got := s.with(ada.proof(nil)).redeem(id, callback, s.code(s.browser("ann"), ask(id, callback, "dpop_jkt", ada.thumbprint()), callback))
	l := s.tokensOf("DPoP", id, status, got)
	token, err := s.Verify(t.Context(), l.access, resource)
	if err != nil || token.Thumbprint != ada.thumbprint() {
		t.Fatalf("the token says %+v, %v", token, err)
	}
	g := s.guard(resource)
	if err := ada.sends(g, "DPoP", l.access, nil); err != nil {
		t.Error(err)
	}
	used := ada.proof(map[string]any{"htu": resource, "ath": base64.RawURLEncoding.EncodeToString(sha(l.access))})
	if err := sendsProof(g, "DPoP", l.access, used); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		err error
		why string
	}{
		"as a bearer":            {lets(g, l.access), "sent without a proof"},
		"as a bearer with proof": {ada.sends(g, "Bearer", l.access, nil), "sent without a proof"},
		"with another's proof":   {eve.sends(g, "DPoP", l.access, nil), "bound to another key"},
		"with a used proof":      {sendsProof(g, "DPoP", l.access, used), "used before"},
		"with one for a login":   {ada.sends(g, "DPoP", l.access, map[string]any{"htu": issuer + tokenPath}), "not for here"},
		"with one for GET":       {ada.sends(g, "DPoP", l.access, map[string]any{"htm": "GET"}), "not for POST"},
		"with one for another":   {ada.sends(g, "DPoP", l.access, map[string]any{"ath": "-"}), "for another token"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.why) {
			t.Errorf("a bound token %s: %v; expected %q", name, test.err, test.why)
		}
	}

	for name, test := range map[string]struct {
		proofs     []string
		fault, why string
	}{
		"without a key":    {nil, "invalid_dpop_proof", "the refresh token is bound to a key"},
		"with another key": {[]string{eve.proof(nil)}, "invalid_grant", "bound to a key that is not the key of the proof"},
	} {
		status, got := s.with(test.proofs...).refresh(id, l.refresh)
		isRefused(t, "a refresh "+name, status, got, 400, test.fault, test.why)
	}
	status, got = s.with(ada.proof(nil)).refresh(id, l.refresh) // the refused request did not use it up
	next := s.tokensOf("DPoP", id, status, got)
	status, got = s.with(ada.proof(nil)).refresh(id, l.refresh) // as if the response was lost
	s.tokensOf("DPoP", id, status, got)
	status, got = s.refresh(id, next.refresh)
	isRefused(t, "the next refresh without a key", status, got, 400, "invalid_dpop_proof", "bound to a key")
}

// An unbound refresh token becomes bound with the first proof.
func TestALoginIsBoundWhenItsClientFirstProvesAKey(t *testing.T) {
	s := newSite(t)
	ada := holder{t, newTestKey(t)}
	l := s.login("ann")
	status, got := s.with(ada.proof(nil)).refresh(l.client, l.refresh)
	l = s.tokensOf("DPoP", l.client, status, got)
	status, got = s.refresh(l.client, l.refresh)
	isRefused(t, "the next refresh without a key", status, got, 400, "invalid_dpop_proof", "bound to a key")
	status, got = s.with(ada.proof(nil)).refresh(l.client, l.refresh)
	s.tokensOf("DPoP", l.client, status, got)
}

func TestProofsThatDoNotHoldAreRefusedAndUseNothingUp(t *testing.T) {
	s := newSite(t)
	ada, eve := holder{t, newTestKey(t)}, holder{t, newTestKey(t)}
	l := s.login("ann")
	used := ada.proof(nil)
	status, got := s.with(used).refresh(l.client, l.refresh)
	l = s.tokensOf("DPoP", l.client, status, got)
	code := s.code(s.browser("ann"), ask(l.client, callback, "dpop_jkt", ada.thumbprint()), callback)

	header := map[jose.HeaderKey]any{jose.HeaderType: "dpop+jwt", "jwk": jose.JSONWebKey{Key: ada.key.Public()}}
	change := func(key jose.HeaderKey, value any) map[jose.HeaderKey]any {
		h := maps.Clone(header)
		h[key] = value
		return h
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: ada.key.Public()})
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"jti": "x", "htm": "POST", "htu": issuer + tokenPath, "iat": time.Now().Unix()}
	shown := map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(public)}
	with := func(m map[string]any, name string, value any) map[string]any {
		m = maps.Clone(m)
		m[name] = value
		return m
	}
	for name, test := range map[string]struct {
		proofs []string
		why    string
	}{
		"two":                        {[]string{ada.proof(nil), ada.proof(nil)}, "there are 2"},
		"no JWT":                     {[]string{"x"}, "not signed with one of ES256"},
		"one that is long":           {[]string{ada.proof(map[string]any{"x": strings.Repeat("x", 8<<10)})}, "up to 8 KiB"},
		"of no algorithm":            {[]string{text(t, with(shown, "alg", "none"), claims, nil)}, "not signed with one of ES256"},
		"with a public secret":       {[]string{signed(t, jose.HS256, public, map[jose.HeaderKey]any{jose.HeaderType: "dpop+jwt"}, claims)}, "not signed with one of ES256"},
		"with a secret that it has":  {[]string{text(t, with(with(shown, "alg", "ES256"), "jwk", map[string]any{"kty": "oct", "k": "c2VjcmV0"}), claims, []byte("x"))}, "not signed with one of ES256"},
		"with its private key":       {[]string{ada.proofIn(change("jwk", jose.JSONWebKey{Key: ada.key}), nil)}, "not signed with one of ES256"},
		"with another's key":         {[]string{ada.proofIn(change("jwk", jose.JSONWebKey{Key: eve.key.Public()}), nil)}, "its signature is not of its key"},
		"that names a key":           {[]string{ada.proofIn(map[jose.HeaderKey]any{jose.HeaderType: "dpop+jwt", "kid": "../keys", "jku": "https://evil.example/keys"}, nil)}, "shows no public key"},
		"of another type":            {[]string{ada.proofIn(change(jose.HeaderType, "JWT"), nil)}, "its type is"},
		"for another method":         {[]string{ada.proof(map[string]any{"htm": "GET"})}, "(htm)"},
		"for another server":         {[]string{ada.proof(map[string]any{"htu": "https://evil.example" + tokenPath})}, "(htu)"},
		"for another port":           {[]string{ada.proof(map[string]any{"htu": issuer + ":8443" + tokenPath})}, "(htu)"},
		"for another path":           {[]string{ada.proof(map[string]any{"htu": issuer + revokePath})}, "(htu)"},
		"for what is protected":      {[]string{ada.proof(map[string]any{"htu": resource})}, "(htu)"},
		"without encryption":         {[]string{ada.proof(map[string]any{"htu": "http" + strings.TrimPrefix(issuer, "https") + tokenPath})}, "(htu)"},
		"of before":                  {[]string{ada.proof(map[string]any{"iat": time.Now().Add(-jws.ProofTime - 2*jws.Skew).Unix()})}, "(iat)"},
		"of the future":              {[]string{ada.proof(map[string]any{"iat": time.Now().Add(2 * jws.Skew).Unix()})}, "(iat)"},
		"of no time":                 {[]string{ada.proof(map[string]any{"iat": "-"})}, "(iat)"},
		"without an id":              {[]string{ada.proof(map[string]any{"jti": "-"})}, "(jti)"},
		"with a long id":             {[]string{ada.proof(map[string]any{"jti": strings.Repeat("x", jws.MaxID+1)})}, "(jti)"},
		"whose claims are something": {[]string{signed(t, jose.ES256, ada.key, header, []string{"x"})}, "is not valid"},
	} {
		status, got := s.with(test.proofs...).refresh(l.client, l.refresh)
		isRefused(t, "a refresh with a proof "+name, status, got, 400, "invalid_dpop_proof", test.why)
		status, got = s.with(test.proofs...).redeem(l.client, callback, code)
		isRefused(t, "a code with a proof "+name, status, got, 400, "invalid_dpop_proof", test.why)
	}
	status, got = s.with(used).refresh(l.client, l.refresh)
	isRefused(t, "a proof that was used", status, got, 400, "invalid_dpop_proof", "used before")
	twin := newSite(t, func(o *Options) { o.Store, o.Users = s.store, s.users })
	status, got = twin.with(used).refresh(l.client, l.refresh)
	isRefused(t, "a proof that was used at another process", status, got, 400, "invalid_dpop_proof", "used before")

	status, got = s.with(ada.proof(nil)).redeem(l.client, callback, code)
	s.tokensOf("DPoP", l.client, status, got)
	status, got = s.with(ada.proof(map[string]any{"htu": "HTTPS://TOOLS.example:443" + tokenPath})).refresh(l.client, l.refresh)
	s.tokensOf("DPoP", l.client, status, got)
}

// A code that is bound to a key (RFC 9449 section 10) needs that key.
func TestACodeThatIsBoundNeedsItsKey(t *testing.T) {
	s := newSite(t)
	ada, eve := holder{t, newTestKey(t)}, holder{t, newTestKey(t)}
	id := s.register("A client", callback)
	for name, test := range map[string]struct {
		proofs     []string
		fault, why string
	}{
		"without a key":    {nil, "invalid_dpop_proof", "the code is bound to a key"},
		"with another key": {[]string{eve.proof(nil)}, "invalid_grant", "bound to a key that is not the key of the proof"},
	} {
		code := s.code(s.browser("ann"), ask(id, callback, "dpop_jkt", ada.thumbprint()), callback)
		status, got := s.with(test.proofs...).redeem(id, callback, code)
		isRefused(t, name, status, got, 400, test.fault, test.why)
	}
	for _, wrong := range []string{"x", strings.Repeat("!", thumbprintSize)} {
		back, err := s.browser("ann").Visit(t.Context(), ask(id, callback, "dpop_jkt", wrong), endsAt(callback))
		if q := query(back); err != nil || q.Get("error") != "invalid_request" || !strings.Contains(q.Get("error_description"), "dpop_jkt") {
			t.Errorf("dpop_jkt %q: %v, %v", wrong, q, err)
		}
	}
}

func TestAServerMayWantProofsAndNonces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ada := holder{t, newTestKey(t)}
		needed := newSite(t, func(o *Options) { o.Proofs = auth.ProofsNeeded })
		id := needed.register("A client", callback)
		code := needed.code(needed.browser("ann"), ask(id, callback), callback)
		status, got := needed.redeem(id, callback, code)
		isRefused(t, "without a proof", status, got, 400, "invalid_dpop_proof", "expected one")
		status, got = needed.with(ada.proof(nil)).redeem(id, callback, code)
		needed.tokensOf("DPoP", id, status, got)

		s := newSite(t, func(o *Options) { o.Proofs = auth.ProofsWithNonce })
		id = s.register("A client", callback)
		code = s.code(s.browser("ann"), ask(id, callback), callback)
		form := url.Values{"grant_type": {"authorization_code"}, "client_id": {id}, "redirect_uri": {callback}, "code": {code}, "code_verifier": {verifier}}
		try := func(nonce string) (int, string, map[string]any) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+tokenPath, strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Dpop": {ada.proof(map[string]any{"nonce": nonce})}}
			response, err := s.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var answer map[string]any
			_ = json.NewDecoder(response.Body).Decode(&answer)
			return response.StatusCode, response.Header.Get("DPoP-Nonce"), answer
		}
		status, nonce, got := try("")
		isRefused(t, "without a nonce", status, got, 400, "use_dpop_nonce", "nonce")
		time.Sleep(5 * time.Minute)
		code = s.code(s.browser("ann"), ask(id, callback), callback)
		form.Set("code", code)
		status, nonce, got = try(nonce)
		isRefused(t, "with an old one", status, got, 400, "use_dpop_nonce", "nonce")
		status, _, got = try(nonce)
		s.tokensOf("DPoP", id, status, got)
	})
}

// The stored data about used proofs is bounded, and exists only for holders of a login.
func TestSoManyProofsOfALoginAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		ada := holder{t, newTestKey(t)}
		kept := func() int {
			all, err := s.store.List(t.Context(), usedPrefix, "", 2*maxUses)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		l := s.login("ann")
		status, got := s.with(ada.proof(nil)).refresh(l.client, "jrt_nothing")
		isRefused(t, "without a login", status, got, 400, "invalid_grant", "is not valid")
		if n := kept(); n != 0 {
			t.Errorf("%d proofs of who has no login are kept", n)
		}
		for range maxUses {
			status, got := s.with(ada.proof(nil)).refresh(l.client, l.refresh)
			l = s.tokensOf("DPoP", l.client, status, got)
		}
		status, got = s.with(ada.proof(nil)).refresh(l.client, l.refresh)
		isRefused(t, "one more", status, got, 503, "temporarily_unavailable", "more than 100 times")
		if n := kept(); n != maxUses {
			t.Errorf("%d are kept", n)
		}
		time.Sleep(usesTime)
		status, got = s.with(ada.proof(nil)).refresh(l.client, l.refresh)
		s.tokensOf("DPoP", l.client, status, got)
		if n := kept(); n != 1 {
			t.Errorf("%d are kept for longer than they hold", n)
		}
	})
}

// A thief with a stolen refresh token cannot hide by proving a key. The owner, whose client sends
// no proofs, ends the login with the used token. That also works in the time in which a response
// may have been lost, and while the thief keeps the login busy.
func TestStolenTokensWithAnotherKeyAreDetected(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		more  int // further refreshes by the thief
	}{
		"after a while":      {time.Hour, 0},
		"at once":            {0, 0},
		"of a login so busy": {0, maxUses},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				l := s.login("ann")
				thief := holder{t, newTestKey(t)}
				status, got := s.with(thief.proof(nil)).refresh(l.client, l.refresh)
				stolen := s.tokensOf("DPoP", l.client, status, got)
				for range test.more {
					status, got = s.with(thief.proof(nil)).refresh(l.client, stolen.refresh)
					if status != 200 {
						break
					}
					stolen = s.tokensOf("DPoP", l.client, status, got)
				}
				time.Sleep(test.after)
				status, got = s.refresh(l.client, l.refresh)
				isRefused(t, "the owner", status, got, 400, "invalid_grant", "used before")
				status, got = s.with(thief.proof(nil)).refresh(l.client, stolen.refresh)
				isRefused(t, "the thief", status, got, 400, "invalid_grant", "the login has ended")
			})
		})
	}
}
