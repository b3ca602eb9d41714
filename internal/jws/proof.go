package jws

import (
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// ProofTime is the validity of a proof.
	ProofTime = time.Minute
	// MaxID is the maximum length, in bytes, of the id of an object that may be used only once.
	MaxID     = 256
	nonceTime = 2 * time.Minute // period for which the same nonce is issued; it remains valid for one more period
	maxProof  = 8 << 10         // bytes
)

// ProofAlgorithms returns the accepted algorithms of proofs.
func ProofAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.PS256, jose.RS256}
}

// A Proof is a received proof, which is signed with the key that it contains.
type Proof struct {
	Thumbprint string // thumbprint of the key (RFC 7638)
	ID         string // identifies the proof, which may be used only once
	Nonce      string
	method     string
	url        string
	at         *Seconds
	hash       string // hash of the access token
}

// ReadProof parses a proof and checks that it is signed with the key that it contains (RFC 9449
// section 4.3, checks 1 to 7).
func ReadProof(headers []string) (*Proof, error) {
	if len(headers) != 1 || len(headers[0]) > maxProof {
		return nil, fmt.Errorf("there are %d, expected one of up to %d KiB", len(headers), maxProof>>10)
	}
	object, err := jose.ParseSignedCompact(headers[0], ProofAlgorithms())
	if err != nil || len(object.Signatures) != 1 {
		return nil, fmt.Errorf("it is not signed with one of %s", strings.Join(Names(ProofAlgorithms()), ", "))
	}
	header := object.Signatures[0].Header
	key := header.JSONWebKey
	switch kind, _ := header.ExtraHeaders[jose.HeaderType].(string); {
	case !strings.EqualFold(kind, "dpop+jwt"):
		return nil, fmt.Errorf("its type is %.40q, expected dpop+jwt", kind)
	case key == nil || !canVerify(key):
		return nil, errors.New("it shows no public key")
	}
	payload, err := object.Verify(key)
	if err != nil {
		return nil, errors.New("its signature is not of its key")
	}
	var claims struct {
		ID     string   `json:"jti"`
		Method string   `json:"htm"`
		URL    string   `json:"htu"`
		At     *Seconds `json:"iat"`
		Hash   string   `json:"ath"`
		Nonce  string   `json:"nonce"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, err
	}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	return &Proof{base64.RawURLEncoding.EncodeToString(thumbprint), claims.ID, claims.Nonce, claims.Method, claims.URL, claims.At, claims.Hash}, err
}

// Check checks that a proof was made recently for a request to this server (RFC 9449 section 4.3,
// checks 8 to 11). It does not check whether the proof was used before.
func (p *Proof) Check(method string, isHere func(*url.URL) bool, now time.Time) error {
	u, err := url.Parse(p.url)
	switch {
	case p.method != method:
		return fmt.Errorf("it is for %.20q, not for %s (htm)", p.method, method)
	case err != nil || !isHere(u):
		return fmt.Errorf("it is for %.200q, not for here (htu)", p.url)
	case p.at == nil || p.at.Time().After(now.Add(Skew)) || now.Sub(p.at.Time()) > ProofTime+Skew:
		return errors.New("it was not made just now (iat)")
	case p.ID == "" || len(p.ID) > MaxID:
		return fmt.Errorf("it has no id of 1 to %d bytes (jti)", MaxID)
	}
	return nil
}

// IsOfKey reports whether a proof is signed with the key that has the given thumbprint.
func (p *Proof) IsOfKey(thumbprint string) bool {
	return subtle.ConstantTimeCompare([]byte(p.Thumbprint), []byte(thumbprint)) == 1
}

// IsOf reports whether a proof belongs to a token.
func (p *Proof) IsOf(token string) bool {
	hash := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare([]byte(p.hash), []byte(base64.RawURLEncoding.EncodeToString(hash[:]))) == 1
}

// Nonces makes and checks the nonces that proofs must contain. A client therefore cannot make
// proofs in advance. Only holders of the secret can make nonces.
type Nonces struct{ Secret []byte }

// Now returns the nonce to issue at the given time.
func (n Nonces) Now(at time.Time) string {
	h := hmac.New(sha256.New, n.Secret)
	h.Write(strconv.AppendInt(nil, at.UnixNano()/int64(nonceTime), 10))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// Holds reports whether a nonce is valid: it was issued in the current period or the previous one.
func (n Nonces) Holds(nonce string, now time.Time) bool {
	a := subtle.ConstantTimeCompare([]byte(nonce), []byte(n.Now(now)))
	b := subtle.ConstantTimeCompare([]byte(nonce), []byte(n.Now(now.Add(-nonceTime))))
	return a|b == 1
}
