package jws

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxKeys    = 100  // maximum number of keys of one signer
	maxKeyBits = 8192 // maximum size of an RSA key; verification with larger keys is slow
	minKeyBits = 2048 // minimum size of an RSA key; smaller keys are insecure
	// Skew is the allowed difference between the clocks of this machine and of a signer.
	Skew = 30 * time.Second
)

// Algorithms returns the accepted signature algorithms. They never include none or an algorithm
// with a shared key.
func Algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA}
}

// Names returns the names of algorithms, as metadata contains them.
func Names(all []jose.SignatureAlgorithm) (names []string) {
	for _, a := range all {
		names = append(names, string(a))
	}
	return names
}

// Keys are the published keys of a signer that can verify signatures.
type Keys []jose.JSONWebKey

// ReadKeys decodes a JWK Set (RFC 7517). It ignores keys of unsupported types.
func ReadKeys(text []byte) (Keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys, and at most %d are looked at", len(set.Keys), maxKeys)
	}
	var keys Keys
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && canVerify(&key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// canVerify reports whether a key can verify signatures.
func canVerify(key *jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minKeyBits && k.N.BitLen() <= maxKeyBits
	case *ecdsa.PublicKey:
		return true
	}
	_, isSecret := key.Key.([]byte)
	return !isSecret
}

// Find returns the key that a header identifies, or nil. If the header has no key id, exactly one
// key must fit. Find ignores keys in the header and URLs of keys.
func (k Keys) Find(header jose.Header) (found *jose.JSONWebKey) {
	for i, key := range k {
		if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != header.Algorithm || header.KeyID != "" && key.KeyID != header.KeyID {
			continue
		}
		if found != nil && header.KeyID == "" {
			return nil // ambiguous
		}
		if found == nil {
			found = &k[i]
		}
	}
	return found
}

// Unverified decodes the claims of a JWT without checking its signature.
func Unverified(token string, claims any) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fmt.Errorf("it has %d parts, and not 3", len(parts))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	return json.Unmarshal(text, claims)
}

// Texts is decoded from a string, an array of strings, or null.
type Texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Texts) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]string)(t)) == nil {
		return nil
	}
	*t = make(Texts, 1)
	return json.Unmarshal(data, &(*t)[0])
}

// Seconds is a point in time in seconds since 1970 (RFC 7519 section 2).
type Seconds float64

func (s Seconds) Time() time.Time {
	return time.Unix(int64(min(max(float64(s), 0), 1<<40)), 0)
}
