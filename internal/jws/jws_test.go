package jws

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/outside"
)

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeysAreFoundByHeader(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	all := Keys{
		{Key: ecKey(t).Public(), KeyID: "a", Algorithm: "ES256", Use: "sig"},
		{Key: ecKey(t).Public(), KeyID: "b", Algorithm: "ES256", Use: "enc"},
		{Key: public, KeyID: "c"},
	}
	for _, test := range []struct{ kid, algorithm, want string }{
		{"a", "ES256", "a"}, {"a", "RS256", ""}, {"b", "ES256", ""}, {"c", "EdDSA", "c"}, {"", "EdDSA", "c"}, {"", "ES256", ""}, {"../a", "ES256", ""}, {"A", "ES256", ""},
	} {
		got := all.Find(jose.Header{KeyID: test.kid, Algorithm: test.algorithm})
		if test.want == "" && got != nil || test.want != "" && (got == nil || got.KeyID != test.want) {
			t.Errorf("%q for %s: found %+v, expected %q", test.kid, test.algorithm, got, test.want)
		}
	}
}

func TestKeysThatNothingIsCheckedWithAreLeftOut(t *testing.T) {
	own := ecKey(t)
	set, err := json.Marshal(map[string]any{"keys": []any{
		jose.JSONWebKey{Key: own.Public(), KeyID: "good"}, jose.JSONWebKey{Key: own, KeyID: "private"}, jose.JSONWebKey{Key: []byte("a secret"), KeyID: "secret"},
		map[string]string{"kty": "AKP", "kid": "of another kind"}, 7,
	}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(set)
	if err != nil || len(keys) != 1 || keys[0].KeyID != "good" {
		t.Errorf("%+v, %v", keys, err)
	}
	many, err := json.Marshal(map[string]any{"keys": slices.Repeat([]int{1}, maxKeys+1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(many); err == nil || !strings.Contains(err.Error(), fmt.Sprint("at most ", maxKeys)) {
		t.Errorf("many: %v", err)
	}
}

func proofOf(t testing.TB, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
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

// Any input is refused or is a valid proof, and any published keys that are accepted can be used.
func FuzzWhatStrangersSign(f *testing.F) {
	own := ecKey(f)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: own.Public(), KeyID: "k"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(proofOf(f, own, map[string]any{"jti": "x", "htm": "POST", "htu": "https://as.example/token", "iat": time.Now().Unix()}))
	f.Add(string(set))
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ReadProof([]string{text}); err == nil {
			if len(p.Thumbprint) != 43 {
				t.Errorf("a proof of the key %q", p.Thumbprint)
			}
			_ = p.Check("POST", func(u *url.URL) bool { return outside.SameOrigin(u, &url.URL{Scheme: "https", Host: "as.example"}) }, time.Now())
		}
		keys, err := ReadKeys([]byte(text))
		for _, key := range keys {
			if err != nil || !key.Valid() || !key.IsPublic() {
				t.Errorf("the key %+v, %v", key, err)
			}
		}
	})
}
