package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/share"
)

const (
	// maxProofs is the maximum number of remembered proofs of one key.
	maxProofs = 100_000
	// maxAllProofs is the maximum number of remembered proofs of all keys. One key may have a
	// quarter.
	maxAllProofs = 4 * maxProofs
)

// proofs remembers used proofs, so that each is used only once.
type proofs struct {
	mu          sync.Mutex
	now, before map[tokenHash]struct{}
	shares      *share.Budget // of now, by key
	turned      time.Time
}

// proofHash returns the hash that identifies a proof. Its first half identifies the key.
func proofHash(thumbprint, id string) tokenHash {
	hash, key := hashOf(thumbprint+" "+id), hashOf(thumbprint)
	copy(hash[:len(hash)/2], key[:])
	return hash
}

// use reports whether a proof was not used before. Each proof is remembered for longer than it is
// valid.
func (p *proofs) use(id tokenHash, now time.Time) (ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.turned) > 2*(jws.ProofTime+skew) {
		p.now, p.before, p.shares, p.turned = map[tokenHash]struct{}{}, p.now, share.New(maxAllProofs), now
	}
	if _, used := p.now[id]; used {
		return false, nil
	}
	if _, used := p.before[id]; used {
		return false, nil
	}
	if !p.shares.Take(string(id[:len(id)/2])) {
		return false, fmt.Errorf("%w: %d proofs came in %v, or %d of this key", ErrUnavailable, maxAllProofs, 2*(jws.ProofTime+skew), maxProofs)
	}
	p.now[id] = struct{}{}
	return true, nil
}

var errProof = errors.New("the proof (DPoP) is not valid")

// checkBinding checks that the sender of a bound token has its certificate or its key.
func (g *Guard) checkBinding(r *http.Request, scheme, token string, t *Token, now time.Time) *Refusal {
	if t.Certificate != "" && !hasCertificate(r, t.Certificate) {
		return g.refuse(http.StatusUnauthorized, "invalid_token", fmt.Errorf("%w: it is bound to a certificate that the client did not present", ErrToken))
	}
	if t.Thumbprint == "" {
		if scheme == schemeProof {
			return g.refuse(http.StatusUnauthorized, "invalid_token", fmt.Errorf("%w: it was sent as bound to a key, but is not bound", ErrToken))
		}
		return nil
	}
	if scheme != schemeProof {
		return g.refuseProof("invalid_token", fmt.Errorf("%w: it is bound to a key, but was sent without a proof", ErrToken))
	}
	p, err := jws.ReadProof(r.Header.Values(headerProof))
	if err == nil && g.options.Proofs == ProofsWithNonce && !g.nonces.Holds(p.Nonce, now) {
		refused := g.refuseProof("use_dpop_nonce", fmt.Errorf("%w: it needs another nonce", errProof))
		refused.nonce = g.nonces.Now(now)
		return refused
	}
	if err == nil {
		err = g.checkProof(r, p, token, t, now)
	}
	if errors.Is(err, ErrUnavailable) {
		return g.refuseToken(err)
	}
	if err != nil {
		return g.refuseProof("invalid_dpop_proof", fmt.Errorf("%w: %w", errProof, err))
	}
	return nil
}

func (g *Guard) refuseProof(fault string, err error) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, challenge: g.challenge(schemeProof, fault, g.options.Scopes), err: err}
}

// hasCertificate reports whether the client presented the certificate with this hash.
func hasCertificate(r *http.Request, hash string) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(hash)) == 1
}

// checkProof checks that a proof is valid for this request and this token (RFC 9449 section 4.3,
// items 8 to 12).
func (g *Guard) checkProof(r *http.Request, p *jws.Proof, token string, t *Token, now time.Time) error {
	// Clients use the origin of the resource, even if a proxy changed the request, with the path of
	// the resource or of the request.
	isHere := func(u *url.URL) bool {
		return outside.SameOrigin(u, g.resource) && (u.EscapedPath() == r.URL.EscapedPath() || u.EscapedPath() == g.resource.EscapedPath())
	}
	switch err := p.Check(r.Method, isHere, now); {
	case !p.IsOfKey(t.Thumbprint):
		return errors.New("the token is bound to another key")
	case err != nil:
		return err
	case !p.IsOf(token):
		return errors.New("it is for another token")
	}
	id := proofHash(t.Thumbprint, p.ID)
	ok, err := g.proofs.use(id, now)
	if err == nil && ok && g.options.Once != nil {
		if ok, err = g.options.Once(r.Context(), base64.RawURLEncoding.EncodeToString(id[:]), 2*(jws.ProofTime+skew)); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	if err == nil && !ok {
		err = errors.New("it was used before")
	}
	return err
}
