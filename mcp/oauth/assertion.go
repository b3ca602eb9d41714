package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	methodKey = "private_key_jwt"
	// assertionTime is the lifetime of a client assertion.
	assertionTime = time.Minute
	typeAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// assertion returns a signed JWT with which a client with a key authenticates to an authorization
// server (RFC 7523 section 2.2).
func (r *Registration) assertion(of *issuer, now time.Time) (string, error) {
	algorithm, err := algorithmOf(r.Key, of.Algorithms)
	if err != nil {
		return "", fmt.Errorf("the key of the client %s: %w", plain(r.ID), err)
	}
	var key any = r.Key
	if r.KeyID != "" {
		key = jose.JSONWebKey{Key: r.Key, KeyID: r.KeyID}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("the key of the client %s: %w", plain(r.ID), err)
	}
	return signed(signer, struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		ID       string `json:"jti"`
		At       int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}{r.ID, r.ID, of.Issuer, rand.Text(), now.Unix(), now.Add(assertionTime).Unix()})
}

// algorithmOf returns the algorithm with which a key signs for an authorization server. The server
// supports the algorithms in taken; nil means all.
func algorithmOf(key crypto.Signer, taken []string) (jose.SignatureAlgorithm, error) {
	var can []jose.SignatureAlgorithm
	switch k := key.(type) {
	case *rsa.PrivateKey:
		can = []jose.SignatureAlgorithm{jose.PS256, jose.RS256}
	case ed25519.PrivateKey:
		can = []jose.SignatureAlgorithm{jose.EdDSA}
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			can = []jose.SignatureAlgorithm{jose.ES256}
		case elliptic.P384():
			can = []jose.SignatureAlgorithm{jose.ES384}
		case elliptic.P521():
			can = []jose.SignatureAlgorithm{jose.ES512}
		}
	}
	for _, a := range can {
		if slices.Contains(taken, string(a)) {
			return a, nil
		}
	}
	switch {
	case len(can) == 0:
		return "", fmt.Errorf("expected a key of RSA, Ed25519, or ECDSA with P-256, P-384 or P-521, got %T", key)
	case len(taken) > 0:
		return "", fmt.Errorf("it signs with %q, but the authorization server accepts %.200q", can, taken)
	}
	return can[len(can)-1], nil
}

// signed returns a signed JWT in compact form.
func signed(signer jose.Signer, claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	object, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return object.CompactSerialize()
}
