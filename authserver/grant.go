package authserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// codeTime is how long a client may take to redeem a code.
	codeTime = time.Minute
	// usedCodeTime is for how long a code is remembered that was redeemed: who comes with it again revokes what it gave.
	usedCodeTime = time.Hour
	// refreshTime is for how long a refresh token holds that is not used.
	refreshTime = 30 * 24 * time.Hour
	// repeatTime is for how long the refresh token before the current one gives the current one again. A client whose
	// response was lost comes back within it; a thief who does so gets nothing that stays unseen: two who have the same
	// token use it twice.
	repeatTime = 30 * time.Second
)

const (
	codePrefix    = "authserver/code/"
	grantPrefix   = "authserver/grant/"
	answerPrefix  = "authserver/answered/"
	refreshPrefix = "jrt_"
	refreshSeal   = "authserver refresh token"
)

// A grant is what a user allowed a client. All tokens that follow from it end with it.
type grant struct {
	User       string    `json:"user"`
	Login      string    `json:"login"` // from which it follows
	Client     string    `json:"client"`
	Resource   string    `json:"resource"`
	Scopes     []string  `json:"scopes,omitempty"`
	Key        string    `json:"key,omitempty"` // thumbprint of the one that the refresh token is bound to; empty: none
	Generation int       `json:"generation"`    // of the refresh token that holds
	Turned     time.Time `json:"turned"`        // when the one before it was used
}

// A code stands for a grant until the client redeems it.
type code struct {
	Grant     grant  `json:"grant"`
	ID        string `json:"id"` // of the grant
	Redirect  string `json:"redirect"`
	Challenge string `json:"challenge"`
	Key       string `json:"key,omitempty"` // thumbprint of the one that it is bound to; empty: none
	Used      bool   `json:"used,omitempty"`
	Replayed  bool   `json:"replayed,omitempty"`
}

// refresh is what is sealed in a refresh token. Nothing of it is kept: what is stored cannot be used.
type refresh struct {
	Grant      string `json:"grant"`
	Generation int    `json:"generation"`
}

// newCode makes a code for what a user allowed.
func (s *Server) newCode(ctx context.Context, q *request, g grant) (string, error) {
	// A request is answered once, whoever sends it again.
	_, err := s.swap(ctx, answerPrefix+hash(q.ID), "", struct{}{}, requestTime)
	if errors.Is(err, state.ErrConflict) {
		return "", errRequest
	}
	if err != nil {
		return "", err
	}
	name := rand.Text()
	c := code{Grant: g, ID: rand.Text(), Redirect: q.Redirect, Challenge: q.Challenge, Key: q.Key}
	_, err = s.swap(ctx, codePrefix+hash(name), "", c, codeTime)
	return name, err
}

// CodeExchange implements [op.Server]. A code is used up by the first who comes with it, whether he may have it or
// not; whoever comes second ends what the first got.
func (e *endpoints) CodeExchange(ctx context.Context, r *op.ClientRequest[oidc.AccessTokenRequest]) (*op.Response, error) {
	s := e.server
	proof, err := s.proof(r.Header)
	if err != nil {
		return nil, err
	}
	c, version, err := s.useCode(ctx, r.Data.Code)
	if err != nil {
		return nil, err
	}
	resource := r.Form.Get("resource")
	switch {
	case c.Grant.Client != r.Client.GetID():
		return nil, oidc.ErrInvalidGrant().WithDescription("the code was given to another client")
	case c.Redirect != r.Data.RedirectURI:
		return nil, oidc.ErrInvalidGrant().WithDescription("redirect_uri: it is not that of the request for the code")
	case len(r.Data.CodeVerifier) < challengeSize || !oidc.VerifyCodeChallenge(&oidc.CodeChallenge{Challenge: c.Challenge, Method: oidc.CodeChallengeMethodS256}, r.Data.CodeVerifier):
		return nil, oidc.ErrInvalidGrant().WithDescription("code_verifier: it does not belong to the code (PKCE)")
	case resource != "" && !sameResource(resource, c.Grant.Resource):
		return nil, oidc.ErrInvalidTarget().WithDescription("resource: the code is for %s", c.Grant.Resource)
	}
	if err := checkKey("the code", c.Key, proof); err != nil {
		return nil, err
	}
	if err := s.stillLoggedIn(ctx, &c.Grant); err != nil {
		return nil, err
	}
	if _, err := s.holder(ctx, &c.Grant); err != nil {
		return nil, err
	}
	if err := s.spend(ctx, c.ID, r.Client, proof); err != nil {
		return nil, err
	}
	c.Grant.Turned, c.Grant.Key = time.Now(), binds(r.Client, proof)
	if _, err := s.putGrant(ctx, c.ID, "", &c.Grant); err != nil {
		return nil, serverFault(err)
	}
	if now, err := s.options.Store.Get(ctx, codePrefix+hash(r.Data.Code)); err != nil || now.Version != version {
		s.revoke(ctx, c.ID, "its code was used twice") // somebody came with it meanwhile
		return nil, oidc.ErrInvalidGrant().WithDescription("the code was used before")
	}
	s.options.Logger.InfoContext(ctx, "logged in", "user", c.Grant.User, "client", c.Grant.Client, "resource", c.Grant.Resource, "scopes", c.Grant.Scopes)
	return s.tokens(ctx, c.ID, &c.Grant, c.Grant.Scopes, thumbprintOf(proof))
}

// useCode returns a code that nobody used, and marks it.
func (s *Server) useCode(ctx context.Context, name string) (*code, state.Version, error) {
	key := codePrefix + hash(name)
	for {
		c := new(code)
		version, err := s.load(ctx, key, c)
		if errors.Is(err, state.ErrNotFound) {
			return nil, "", oidc.ErrInvalidGrant().WithDescription("the code is not known, or expired")
		}
		if err != nil {
			return nil, "", serverFault(err)
		}
		isReplay := c.Used
		c.Used, c.Replayed = true, isReplay
		version, err = s.swap(ctx, key, version, c, usedCodeTime)
		switch {
		case errors.Is(err, state.ErrConflict):
			continue
		case err != nil:
			return nil, "", serverFault(err)
		case isReplay:
			s.revoke(ctx, c.ID, "its code was used twice")
			return nil, "", oidc.ErrInvalidGrant().WithDescription("the code was used before; what it gave is revoked")
		}
		return c, version, nil
	}
}

// RefreshToken implements [op.Server]. Each refresh token is used once. Who comes with one that was used ends all that
// follows from it, but for the moment in which a response may have been lost.
func (e *endpoints) RefreshToken(ctx context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	s := e.server
	proof, err := s.proof(r.Header)
	if err != nil {
		return nil, err
	}
	held, err := s.openRefresh(r.Data.RefreshToken)
	if err != nil {
		return nil, err
	}
	spend := sync.OnceValue(func() error { return s.spend(ctx, held.Grant, r.Client, proof) })
	for {
		g, version, err := s.grant(ctx, held.Grant)
		if err == nil {
			err = s.checkRefresh(ctx, g, r)
		}
		if err != nil {
			return nil, err
		}
		// That a token was used twice is seen first: else a thief who is the first to prove a key, or asks so often that this
		// server is busy, would keep the owner from being heard. So a repetition is by who has the key, or none.
		now, other := time.Now(), checkKey("the refresh token", g.Key, proof)
		isNext := held.Generation == g.Generation
		isAgain := held.Generation == g.Generation-1 && now.Sub(g.Turned) < repeatTime && other == nil
		if !isNext && !isAgain {
			s.revoke(ctx, held.Grant, "a refresh token was used twice")
			return nil, oidc.ErrInvalidGrant().WithDescription("the refresh token was used before; all that followed from the login is revoked")
		}
		if other != nil {
			return nil, other
		}
		if err := spend(); err != nil {
			return nil, err
		}
		if isNext {
			if err := s.stillLoggedIn(ctx, g); err != nil {
				return nil, err
			}
			g.Generation, g.Turned, g.Key = g.Generation+1, now, cmp.Or(g.Key, binds(r.Client, proof))
			_, err = s.putGrant(ctx, held.Grant, version, g)
		}
		if errors.Is(err, state.ErrConflict) {
			continue // somebody else used it; look again
		}
		if err != nil {
			return nil, serverFault(err)
		}
		scopes := []string(r.Data.Scopes)
		if len(scopes) == 0 {
			scopes = g.Scopes
		}
		s.touch(ctx, g.Client)
		return s.tokens(ctx, held.Grant, g, scopes, thumbprintOf(proof))
	}
}

// checkRefresh checks who comes with a refresh token, and for what.
func (s *Server) checkRefresh(ctx context.Context, g *grant, r *op.ClientRequest[oidc.RefreshTokenRequest]) error {
	resource := r.Form.Get("resource")
	switch {
	case g.Client != r.Client.GetID():
		return oidc.ErrInvalidGrant().WithDescription("the refresh token was given to another client")
	case resource != "" && !sameResource(resource, g.Resource):
		return oidc.ErrInvalidTarget().WithDescription("resource: the login is for %s", g.Resource)
	case slices.ContainsFunc(r.Data.Scopes, func(scope string) bool { return !slices.Contains(g.Scopes, scope) }):
		return oidc.ErrInvalidScope().WithDescription("scope: the login has %q", strings.Join(g.Scopes, " "))
	}
	_, err := s.holder(ctx, g)
	return err
}

// Revocation implements [op.Server] (RFC 7009): with any token of a login the whole login ends.
func (e *endpoints) Revocation(ctx context.Context, r *op.ClientRequest[oidc.RevocationRequest]) (*op.Response, error) {
	s := e.server
	id := ""
	if held, err := s.openRefresh(r.Data.Token); err == nil {
		id = held.Grant
	} else if claims, err := s.claims(ctx, r.Data.Token); err == nil {
		id = claims.Grant
	}
	if g, _, err := s.grant(ctx, id); id != "" && err == nil && g.Client == r.Client.GetID() {
		if err := s.spend(ctx, id, r.Client, nil); err != nil {
			return nil, err
		}
		s.revoke(ctx, id, "the client says so")
	}
	return op.NewResponse(nil), nil
}

func (s *Server) openRefresh(token string) (r refresh, err error) {
	sealed, found := strings.CutPrefix(token, refreshPrefix)
	err = s.open(sealed, refreshSeal, &r)
	if err != nil || !found || len(token) > maxParameter {
		return r, oidc.ErrInvalidGrant().WithDescription("the refresh token does not hold")
	}
	return r, nil
}

// grant finds a grant; the error is for the client.
func (s *Server) grant(ctx context.Context, id string) (*grant, state.Version, error) {
	g := new(grant)
	version, err := s.load(ctx, grantPrefix+hash(id), g)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return nil, "", oidc.ErrInvalidGrant().WithDescription("the login is over: it expired, or was revoked")
	case err != nil:
		return nil, "", serverFault(err)
	}
	return g, version, nil
}

func (s *Server) putGrant(ctx context.Context, id string, old state.Version, g *grant) (state.Version, error) {
	return s.swap(ctx, grantPrefix+hash(id), old, g, refreshTime)
}

// revoke ends a grant.
func (s *Server) revoke(ctx context.Context, id, why string) {
	ctx = context.WithoutCancel(ctx)
	if err := s.options.Store.Delete(ctx, grantPrefix+hash(id), state.Hold{}); err != nil {
		s.options.Logger.ErrorContext(ctx, "a login cannot be revoked", "why", why, "error", err)
		return
	}
	s.options.Logger.InfoContext(ctx, "login revoked", "why", why)
}

// holder is the user of a grant, as long as the login holds from which it follows.
func (s *Server) holder(ctx context.Context, g *grant) (User, error) {
	u, err := s.userOf(ctx, g.Login)
	return u, loginFault(err)
}

// stillLoggedIn has the provider of a grant's user say that it still knows the user.
func (s *Server) stillLoggedIn(ctx context.Context, g *grant) error {
	return loginFault(s.askAgain(ctx, g.Login))
}

// loginFault is the error for a client whose login cannot be used.
func loginFault(err error) error {
	switch {
	case errors.Is(err, ErrNoUser):
		return oidc.ErrInvalidGrant().WithDescription("the login is over: it ended or is too old, the user is gone, or has another password")
	case err != nil:
		return serverFault(err)
	}
	return nil
}

func serverFault(err error) error {
	return oidc.ErrServerError().WithDescription("this cannot be done now").WithParent(fmt.Errorf("authorization server: %w", err))
}
