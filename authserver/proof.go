package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	headerProof = "DPoP"
	headerNonce = "DPoP-Nonce"
	// typeProof is that of an access token that is bound to a key.
	typeProof = "DPoP"
	// usesTime is in which what is used once is counted, and maxUses how often a login can come with such a thing. So much
	// is kept of it.
	usesTime = 10 * time.Minute
	maxUses  = 100
)

const usedPrefix = "authserver/used/"

func proofFault(why string) error {
	return &oidc.Error{ErrorType: "invalid_dpop_proof", Description: "the proof (DPoP) does not hold: " + why}
}

// proof returns the proof with which a client asks for tokens (RFC 9449 section 5); nil: it sent none, and need not.
// Whether it was used before is seen by spend.
func (s *Server) proof(h http.Header) (*jws.Proof, error) {
	sent := h.Values(headerProof)
	if len(sent) == 0 && s.options.Proofs == auth.ProofsTaken {
		return nil, nil
	}
	p, err := jws.ReadProof(sent)
	if err != nil {
		return nil, proofFault(err.Error())
	}
	now := time.Now()
	if s.options.Proofs == auth.ProofsWithNonce && !s.nonces.Holds(p.Nonce, now) {
		return nil, &oidc.Error{ErrorType: "use_dpop_nonce", Description: "the proof (DPoP) needs the nonce of this response"}
	}
	isHere := func(u *url.URL) bool { return jws.SameOrigin(u, s.issuer) && u.EscapedPath() == tokenPath }
	if err := p.Check(http.MethodPost, isHere, now); err != nil {
		return nil, proofFault(err.Error())
	}
	return p, nil
}

// checkKey checks that who has something that is bound to a key has the key; without a thumbprint it is not bound.
func checkKey(what, thumbprint string, p *jws.Proof) error {
	switch {
	case thumbprint == "":
		return nil
	case p == nil:
		return proofFault(what + " is bound to a key, and came without one")
	case !p.IsOfKey(thumbprint):
		return oidc.ErrInvalidGrant().WithDescription("%s is bound to another key than that of the proof (DPoP)", what)
	}
	return nil
}

// thumbprintOf names the key of a proof; empty: there is none.
func thumbprintOf(p *jws.Proof) string {
	if p == nil {
		return ""
	}
	return p.Thumbprint
}

// binds is the thumbprint of the key that refresh tokens are bound to. Those of a client that signs who it is are bound
// to the client, which may come with another key (RFC 9449 section 5).
func binds(c op.Client, p *jws.Proof) string {
	if c.AuthMethod() == oidc.AuthMethodPrivateKeyJWT {
		return ""
	}
	return thumbprintOf(p)
}

// spend notes that the assertion and the proof with which a client comes were used. It does so for who has a login only,
// so that nobody else makes this server keep anything.
func (s *Server) spend(ctx context.Context, login string, c op.Client, p *jws.Proof) error {
	var signed *assertion
	if own, is := c.(protocolClient); is {
		signed = own.assertion
	}
	if signed == nil && p == nil {
		return nil
	}
	now := time.Now()
	if !s.uses.take(now, usesTime, attempt{login, maxUses}) {
		// Clients forget their login at an error below 500; at this one they come again later.
		why := fmt.Sprintf("the login asked for tokens more than %d times in %v", maxUses, usesTime)
		return op.NewStatusError(&oidc.Error{ErrorType: "temporarily_unavailable", Description: why}, http.StatusServiceUnavailable)
	}
	if signed != nil {
		isNew, err := s.once(ctx, "assertion "+c.GetID()+" "+signed.id, signed.until.Sub(now))
		if err != nil {
			return err
		}
		if !isNew {
			return identityFault(fmt.Errorf("%w: it was used before (jti)", errAssertion))
		}
	}
	if p == nil {
		return nil
	}
	isNew, err := s.once(ctx, "proof "+p.Thumbprint+" "+p.ID, jws.ProofTime+2*jws.Skew)
	if err == nil && !isNew {
		err = proofFault("it was used before (jti)")
	}
	return err
}

// once reports whether something that holds once, for a time, was not used before, here or at another process. What has ended
// since it was checked, as a store may be slow, is kept for a moment: without a time it would be for ever.
func (s *Server) once(ctx context.Context, name string, holds time.Duration) (isNew bool, err error) {
	_, err = s.options.Store.CompareAndSwap(ctx, usedPrefix+hash(name), "", []byte("{}"), state.Write{TTL: max(holds, time.Second)})
	if errors.Is(err, state.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, serverFault(err)
	}
	return true, nil
}
