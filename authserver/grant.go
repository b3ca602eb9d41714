package authserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
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
	// usedCodeTime is how long a redeemed code is stored. A second use of it revokes its grant.
	usedCodeTime = time.Hour
	// refreshTime is the lifetime of an unused refresh token.
	refreshTime = 30 * 24 * time.Hour
	// repeatTime is how long the previous refresh token is accepted again and returns the current
	// one. Within it, a client that lost the response can repeat its request. A thief of the token
	// is still discovered, because the thief and the client both use the next token.
	repeatTime = 30 * time.Second
)

const (
	codePrefix    = "authserver/code/"
	grantPrefix   = "authserver/grant/"
	answerPrefix  = "authserver/answered/"
	refreshPrefix = "jrt_"
	refreshSeal   = "authserver refresh token"
)

// A grant is a user's permission for a client. All tokens derived from a grant end with it.
type grant struct {
	User       string    `json:"user"`
	Login      string    `json:"login"` // ID of the login from which the grant derives
	Client     string    `json:"client"`
	Resource   string    `json:"resource"`
	Scopes     []string  `json:"scopes,omitempty"`
	Key        string    `json:"key,omitempty"` // thumbprint of the key to which the refresh token is bound, or empty
	Generation int       `json:"generation"`    // number of the valid refresh token
	Turned     time.Time `json:"turned"`        // time of the last use of a refresh token
}

// A code is an authorization code. The client redeems it for the tokens of a grant.
type code struct {
	Grant     grant  `json:"grant"`
	ID        string `json:"id"` // ID of the grant
	Redirect  string `json:"redirect"`
	Challenge string `json:"challenge"`
	Key       string `json:"key,omitempty"` // thumbprint of the key to which the code is bound, or empty
	Used      bool   `json:"used,omitempty"`
	Replayed  bool   `json:"replayed,omitempty"`
}

// refresh is the sealed content of a refresh token. It is not stored, so a reader of the store
// cannot use the token.
type refresh struct {
	Grant      string `json:"grant"`
	Generation int    `json:"generation"`
}

// newCode returns a code for a grant to a client's request.
func (s *Server) newCode(ctx context.Context, q *request, g grant) (string, error) {
	// A request gets only one response, even if its consent form is sent twice.
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

// CodeExchange implements [op.Server]. The first use of a code redeems it, even if the client gets
// no tokens. A second use ends the grant of the first.
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
		return nil, oidc.ErrInvalidGrant().WithDescription("redirect_uri: it differs from the request for the code")
	case len(r.Data.CodeVerifier) < challengeSize || !oidc.VerifyCodeChallenge(&oidc.CodeChallenge{Challenge: c.Challenge, Method: oidc.CodeChallengeMethodS256}, r.Data.CodeVerifier):
		return nil, oidc.ErrInvalidGrant().WithDescription("code_verifier: it does not belong to the code (PKCE)")
	case resource != "" && !sameResource(resource, c.Grant.Resource):
		return nil, oidc.ErrInvalidTarget().WithDescription("resource: the code is only for %s", c.Grant.Resource)
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
		s.revoke(ctx, c.ID, "its code was used twice") // another request used the code in the meantime
		return nil, oidc.ErrInvalidGrant().WithDescription("the code was used before")
	}
	s.options.Logger.InfoContext(ctx, "logged in", "user", c.Grant.User, "client", c.Grant.Client, "resource", c.Grant.Resource, "scopes", c.Grant.Scopes)
	return s.tokens(ctx, c.ID, &c.Grant, c.Grant.Scopes, thumbprintOf(proof))
}

// useCode returns an unused code and marks it as used.
func (s *Server) useCode(ctx context.Context, name string) (*code, state.Version, error) {
	key := codePrefix + hash(name)
	for {
		c := new(code)
		version, err := s.load(ctx, key, c)
		if errors.Is(err, state.ErrNotFound) {
			return nil, "", oidc.ErrInvalidGrant().WithDescription("the code is unknown or expired")
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
			return nil, "", oidc.ErrInvalidGrant().WithDescription("the code was used before; its tokens are revoked")
		}
		return c, version, nil
	}
}

// RefreshToken implements [op.Server]. Each refresh token is used once. A second use revokes the
// grant, except within repeatTime, when a response may have been lost.
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
		// Detect the second use of a token first. Otherwise a thief could prevent the detection, by
		// proving a key first or by keeping this server busy with many requests. So only a holder
		// of the key, or a client without one, may repeat a request.
		now, other := time.Now(), checkKey("the refresh token", g.Key, proof)
		isNext := held.Generation == g.Generation
		isAgain := held.Generation == g.Generation-1 && now.Sub(g.Turned) < repeatTime && other == nil
		if !isNext && !isAgain {
			s.revoke(ctx, held.Grant, "a refresh token was used twice")
			return nil, oidc.ErrInvalidGrant().WithDescription("the refresh token was used before; all tokens of the login are revoked")
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
			continue // another request used the token, so the grant is read again
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

// checkRefresh checks the client and the resource of a refresh.
func (s *Server) checkRefresh(ctx context.Context, g *grant, r *op.ClientRequest[oidc.RefreshTokenRequest]) error {
	resource := r.Form.Get("resource")
	switch {
	case g.Client != r.Client.GetID():
		return oidc.ErrInvalidGrant().WithDescription("the refresh token was given to another client")
	case resource != "" && !sameResource(resource, g.Resource):
		return oidc.ErrInvalidTarget().WithDescription("resource: the login is only for %s", g.Resource)
	case slices.ContainsFunc(r.Data.Scopes, func(scope string) bool { return !slices.Contains(g.Scopes, scope) }):
		return oidc.ErrInvalidScope().WithDescription("scope: the login has only %q", strings.Join(g.Scopes, " "))
	}
	_, err := s.holder(ctx, g)
	return err
}

// Revocation implements [op.Server] (RFC 7009). Any token of a grant revokes the whole grant.
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
		s.revoke(ctx, id, "the client revoked it")
	}
	return op.NewResponse(nil), nil
}

func (s *Server) openRefresh(token string) (r refresh, err error) {
	sealed, found := strings.CutPrefix(token, refreshPrefix)
	err = s.open(sealed, refreshSeal, &r)
	if err != nil || !found || len(token) > maxParameter {
		return r, oidc.ErrInvalidGrant().WithDescription("the refresh token is not valid")
	}
	return r, nil
}

// grant returns the grant with an ID. Its errors are safe to return to clients.
func (s *Server) grant(ctx context.Context, id string) (*grant, state.Version, error) {
	g := new(grant)
	version, err := s.load(ctx, grantPrefix+hash(id), g)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return nil, "", oidc.ErrInvalidGrant().WithDescription("the login has ended: it expired, or was revoked")
	case err != nil:
		return nil, "", serverFault(err)
	}
	return g, version, nil
}

func (s *Server) putGrant(ctx context.Context, id string, old state.Version, g *grant) (state.Version, error) {
	return s.swap(ctx, grantPrefix+hash(id), old, g, refreshTime)
}

// revoke removes a grant and logs the reason.
func (s *Server) revoke(ctx context.Context, id, why string) {
	ctx = context.WithoutCancel(ctx)
	g, _, err := s.grant(ctx, id)
	if err := s.options.Store.Delete(ctx, grantPrefix+hash(id), state.Hold{}); err != nil {
		s.options.Logger.ErrorContext(ctx, "a login cannot be revoked", "why", why, "error", err)
		return
	}
	s.options.Logger.InfoContext(ctx, "login revoked", "why", why)
	if err == nil {
		s.record(ctx, Event{Kind: EventRevoke, User: g.User, Client: g.Client, Name: g.Resource, Reason: why})
	}
	s.ended(ctx)
}

// holder returns the user of a grant. It returns an error if the login has ended.
func (s *Server) holder(ctx context.Context, g *grant) (User, error) {
	u, err := s.userOf(ctx, g.Login)
	return u, loginFault(err)
}

// stillLoggedIn asks the provider to confirm the login of a grant.
func (s *Server) stillLoggedIn(ctx context.Context, g *grant) error {
	return loginFault(s.askAgain(ctx, g.Login))
}

// loginFault returns the error that a client gets if its login cannot be used.
func loginFault(err error) error {
	switch {
	case errors.Is(err, ErrNoUser):
		return oidc.ErrInvalidGrant().WithDescription("the login has ended: it was revoked or is too old, or the user was removed or has a new password")
	case err != nil:
		return serverFault(err)
	}
	return nil
}

func serverFault(err error) error {
	if isAway(err) { // clients try again later, and keep their login
		return op.NewStatusError(&oidc.Error{ErrorType: "temporarily_unavailable", Description: "this cannot be done now", Parent: err}, http.StatusServiceUnavailable)
	}
	return oidc.ErrServerError().WithDescription("this cannot be done now").WithParent(fmt.Errorf("authorization server: %w", err))
}
