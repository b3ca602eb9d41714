package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	headerProof = "DPoP"
	headerNonce = "DPoP-Nonce"
	faultNonce  = "use_dpop_nonce" // the error code that requires another nonce
	maxNonce    = 1_000            // maximum bytes of a nonce
)

// A proofKey signs proofs that the sender of a token is the client that obtained the token (RFC
// 9449).
type proofKey struct {
	Key []byte `json:"key"` // PKCS #8

	once   sync.Once
	key    *ecdsa.PrivateKey
	signer jose.Signer
	err    error
}

// newProofKey returns a new key for an authorization server that supports the given algorithms; nil
// means all.
func newProofKey(algorithms []string) (*proofKey, error) {
	if len(algorithms) > 0 && !slices.Contains(algorithms, string(jose.ES256)) {
		return nil, fmt.Errorf("the authorization server accepts proofs (DPoP) signed with %.100q, not with ES256", algorithms)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	return &proofKey{Key: encoded}, err
}

// prepare decodes the key.
func (p *proofKey) prepare() error {
	p.once.Do(func() {
		var decoded any
		if decoded, p.err = x509.ParsePKCS8PrivateKey(p.Key); p.err != nil {
			return
		}
		var is bool
		if p.key, is = decoded.(*ecdsa.PrivateKey); !is {
			p.err = fmt.Errorf("the key of proofs is a %T", decoded)
			return
		}
		options := &jose.SignerOptions{EmbedJWK: true}
		p.signer, p.err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, options.WithType("dpop+jwt"))
	})
	return p.err
}

// thumbprint returns the thumbprint that identifies the key to an authorization server (RFC 7638).
func (p *proofKey) thumbprint() (string, error) {
	if err := p.prepare(); err != nil {
		return "", err
	}
	sum, err := (&jose.JSONWebKey{Key: p.key.Public()}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}

// sign returns the proof for a request. The proof is bound to token, unless that is empty.
func (p *proofKey) sign(now time.Time, method string, to *url.URL, token, nonce string) (string, error) {
	if err := p.prepare(); err != nil {
		return "", err
	}
	claims := struct {
		ID     string `json:"jti"`
		Method string `json:"htm"`
		URL    string `json:"htu"`
		At     int64  `json:"iat"`
		Hash   string `json:"ath,omitempty"`
		Nonce  string `json:"nonce,omitempty"`
	}{rand.Text(), method, (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path, RawPath: to.RawPath}).String(), now.Unix(), "", nonce}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return signed(p.signer, claims)
}
