package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	headerProof = "DPoP"
	headerNonce = "DPoP-Nonce"
	// typeProof is the type of an access token that is bound to a key (token_type).
	typeProof = "DPoP"
	// usesTime is the period for counting the uses of one-time values, and maxUses is the limit for
	// one login. The limit bounds the data stored for the login.
	usesTime = 10 * time.Minute
	maxUses  = 100
)

const usedPrefix = "authserver/used/"

func proofFault(why string) error {
	return &oidc.Error{ErrorType: "invalid_dpop_proof", Description: "the proof (DPoP) is not valid: " + why}
}

// proof returns the proof of a client's token request (RFC 9449 section 5). It returns nil if the
// client sent none and needs none. It does not check whether the proof was used before; spend does.
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
	isHere := func(u *url.URL) bool { return outside.SameOrigin(u, s.issuer) && u.EscapedPath() == tokenPath }
	if err := p.Check(http.MethodPost, isHere, now); err != nil {
		return nil, proofFault(err.Error())
	}
	return p, nil
}

// checkKey checks that the sender of a value has the key that the value is bound to. An empty
// thumbprint means that the value is not bound.
func checkKey(what, thumbprint string, p *jws.Proof) error {
	switch {
	case thumbprint == "":
		return nil
	case p == nil:
		return proofFault(what + " is bound to a key, but was sent without a proof")
	case !p.IsOfKey(thumbprint):
		return oidc.ErrInvalidGrant().WithDescription("%s is bound to a key that is not the key of the proof (DPoP)", what)
	}
	return nil
}

// thumbprintOf returns the thumbprint of a proof's key, or "" for a nil proof.
func thumbprintOf(p *jws.Proof) string {
	if p == nil {
		return ""
	}
	return p.Thumbprint
}

// binds returns the thumbprint of the key that the client's refresh tokens are bound to. It returns
// "" for a client with signed assertions. Refresh tokens of such a client are bound to the client
// itself, because the client may change its key (RFC 9449 section 5).
func binds(c op.Client, p *jws.Proof) string {
	if c.AuthMethod() == oidc.AuthMethodPrivateKeyJWT {
		return ""
	}
	return thumbprintOf(p)
}

// spend marks the client's assertion and proof as used. Call it only for requests with a valid
// login, so that others cannot make this server store data.
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
		// At this status clients try again later. At an error below 500 they would discard their
		// login.
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

// once reports whether a one-time value was unused, in this and all other processes, and marks it
// as used. holds is how long the mark is stored. If the value expired during the check, because a
// store may be slow, the mark is stored for a moment: without a TTL it would be stored for ever.
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
