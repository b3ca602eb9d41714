package auth

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	proofTime = time.Minute     // for how long a proof holds
	nonceTime = 2 * time.Minute // for how long a nonce is given; it holds as long again
	maxProof  = 8 << 10         // bytes
	maxProofs = 100_000         // that are remembered at a time
	maxID     = 256             // bytes of a proof's id
)

// proofAlgorithms are those that proofs may be signed with.
func proofAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.PS256, jose.RS256}
}

func proofAlgorithmNames() (names []string) {
	for _, a := range proofAlgorithms() {
		names = append(names, string(a))
	}
	return names
}

// proofs remember which proofs were used, so that none is used twice.
type proofs struct {
	secret [32]byte // of nonces

	mu          sync.Mutex
	now, before map[tokenHash]struct{}
	turned      time.Time
}

func (p *proofs) begin() error {
	_, err := rand.Read(p.secret[:])
	return err
}

// use reports whether a proof was not used before. Each is remembered for longer than it holds.
func (p *proofs) use(id tokenHash, now time.Time) (ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.turned) > 2*(proofTime+skew) {
		p.now, p.before, p.turned = map[tokenHash]struct{}{}, p.now, now
	}
	if _, used := p.now[id]; used {
		return false, nil
	}
	if _, used := p.before[id]; used {
		return false, nil
	}
	if len(p.now) >= maxProofs {
		return false, fmt.Errorf("%w: more than %d proofs in %v", ErrUnavailable, maxProofs, 2*(proofTime+skew))
	}
	p.now[id] = struct{}{}
	return true, nil
}

// nonce is the one to give at a time.
func (p *proofs) nonce(at time.Time) string {
	h := hmac.New(sha256.New, p.secret[:])
	h.Write(strconv.AppendInt(nil, at.UnixNano()/int64(nonceTime), 10))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// holds reports whether a nonce was given lately.
func (p *proofs) holds(nonce string, now time.Time) bool {
	a := subtle.ConstantTimeCompare([]byte(nonce), []byte(p.nonce(now)))
	b := subtle.ConstantTimeCompare([]byte(nonce), []byte(p.nonce(now.Add(-nonceTime))))
	return a|b == 1
}

var errProof = errors.New("the proof (DPoP) does not hold")

// checkBinding checks that who sends a token is who it was given to, where it says who that is.
func (g *Guard) checkBinding(r *http.Request, scheme, token string, t *Token, now time.Time) *Refusal {
	if t.Certificate != "" && !hasCertificate(r, t.Certificate) {
		return g.refuse(http.StatusUnauthorized, "invalid_token", fmt.Errorf("%w: it is bound to a certificate that the client did not show", ErrToken))
	}
	if t.Thumbprint == "" {
		if scheme == schemeProof {
			return g.refuse(http.StatusUnauthorized, "invalid_token", fmt.Errorf("%w: it is sent as bound to a key, and is not", ErrToken))
		}
		return nil
	}
	if scheme != schemeProof {
		return g.refuseProof("invalid_token", fmt.Errorf("%w: it is bound to a key, and sent without a proof", ErrToken))
	}
	if g.options.Proofs == ProofsWithNonce {
		claimed, err := readProof(r.Header.Values(headerProof))
		if err == nil && !g.proofs.holds(claimed.claims.Nonce, now) {
			refused := g.refuseProof("use_dpop_nonce", fmt.Errorf("%w: it needs another nonce", errProof))
			refused.nonce = g.proofs.nonce(now)
			return refused
		}
	}
	if err := g.checkProof(r, token, t, now); err != nil {
		if errors.Is(err, ErrUnavailable) {
			return g.refuseToken(err)
		}
		return g.refuseProof("invalid_dpop_proof", fmt.Errorf("%w: %w", errProof, err))
	}
	return nil
}

func (g *Guard) refuseProof(fault string, err error) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, challenge: g.challenge(schemeProof, fault, g.options.Scopes), err: err}
}

// hasCertificate reports whether the client showed the certificate of a hash.
func hasCertificate(r *http.Request, hash string) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(hash)) == 1
}

// A proof is one as it was sent.
type proof struct {
	key    *jose.JSONWebKey
	claims struct {
		ID     string   `json:"jti"`
		Method string   `json:"htm"`
		URL    string   `json:"htu"`
		At     *seconds `json:"iat"`
		Hash   string   `json:"ath"`
		Nonce  string   `json:"nonce"`
	}
}

// readProof checks that a proof is signed with the key that it shows (RFC 9449 section 4.3, 1 to 7).
func readProof(headers []string) (*proof, error) {
	if len(headers) != 1 || len(headers[0]) > maxProof {
		return nil, fmt.Errorf("there are %d, expected one", len(headers))
	}
	object, err := jose.ParseSignedCompact(headers[0], proofAlgorithms())
	if err != nil || len(object.Signatures) != 1 {
		return nil, errors.New("it is not signed with an algorithm that is taken")
	}
	header := object.Signatures[0].Header
	p := &proof{key: header.JSONWebKey}
	switch kind, _ := header.ExtraHeaders[jose.HeaderType].(string); {
	case !strings.EqualFold(kind, "dpop+jwt"):
		return nil, fmt.Errorf("its type is %.40q", kind)
	case p.key == nil || !canVerify(p.key):
		return nil, errors.New("it shows no public key")
	}
	payload, err := object.Verify(p.key)
	if err != nil {
		return nil, errors.New("its signature is not of its key")
	}
	return p, json.Unmarshal(payload, &p.claims)
}

// checkProof checks that a proof is for this request and this token (RFC 9449 section 4.3, 8 to 12).
func (g *Guard) checkProof(r *http.Request, token string, t *Token, now time.Time) error {
	p, err := readProof(r.Header.Values(headerProof))
	if err != nil {
		return err
	}
	thumbprint, err := p.key.Thumbprint(crypto.SHA256)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(token))
	switch c := &p.claims; {
	case subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(thumbprint)), []byte(t.Thumbprint)) == 0:
		return errors.New("the token is bound to another key")
	case c.Method != r.Method:
		return fmt.Errorf("it is for %.20q", c.Method)
	case !g.isHere(c.URL, r):
		return fmt.Errorf("it is for %.200q", c.URL)
	case subtle.ConstantTimeCompare([]byte(c.Hash), []byte(base64.RawURLEncoding.EncodeToString(hash[:]))) == 0:
		return errors.New("it is for another token")
	case c.At == nil || c.At.time().After(now.Add(skew)) || now.Sub(c.At.time()) > proofTime+skew:
		return errors.New("it was not made just now")
	case c.ID == "" || len(c.ID) > maxID:
		return errors.New("it has no id")
	}
	ok, err := g.proofs.use(hashOf(t.Thumbprint+" "+p.claims.ID), now)
	if err == nil && !ok {
		err = errors.New("it was used before")
	}
	return err
}

// isHere reports whether a URL is that of a request, as clients see it: at the origin of the resource, whatever a
// proxy made of it, and at the path of the resource or that of the request.
func (g *Guard) isHere(claimed string, r *http.Request) bool {
	u, err := url.Parse(claimed)
	return err == nil && strings.EqualFold(u.Scheme, g.resource.Scheme) && sameHost(u, g.resource) &&
		(u.EscapedPath() == r.URL.EscapedPath() || u.EscapedPath() == g.resource.EscapedPath())
}

func sameHost(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
