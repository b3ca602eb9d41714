package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/state"
)

// fresh returns the login with the token to send, or nil. If the token expires soon, one caller
// renews it while the others wait.
func (c *Client) fresh(ctx context.Context, a *access) (*login, error) {
	l, looked := a.current()
	if !looked {
		if err := c.look(ctx, a); err != nil {
			// The server may require no token. If it does, authorize returns the error again.
			c.options.Logger.WarnContext(ctx, "tokens cannot be read", "server", canonical(a.server), "error", err)
			return nil, ctx.Err()
		}
		l, _ = a.current()
	}
	if l == nil || l.Token.Refresh == "" && c.options.Grant == nil || !l.Token.expiresSoon(c.now()) {
		return l, nil
	}
	unlock, err := a.lock(ctx, "")
	if err == nil {
		defer unlock()
		if now, _ := a.current(); now != l {
			return now, nil
		}
		if err = c.renew(ctx, a, l); isRefusal(err) {
			err = nil // the server's next response requires a token
		}
		a.ended("", err)
	}
	if err != nil && ctx.Err() == nil && c.now().Before(l.Token.Expires) {
		return l, nil // the old token is still valid
	}
	l, _ = a.current()
	return l, err
}

// look loads the login of a server from the store.
func (c *Client) look(ctx context.Context, a *access) error {
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return err
	}
	defer unlock()
	if _, looked := a.current(); looked {
		return nil
	}
	l, err := c.store.ofServer(ctx, canonical(a.server))
	a.set(l)
	return err
}

// renew obtains the next token for a login. Only one process at a time does this; the others find
// the token in the store. If the authorization server refuses, renew removes the login. The caller
// holds the turn.
func (c *Client) renew(ctx context.Context, a *access, old *login) error {
	ctx = from(ctx, a.server)
	if c.options.Renew != nil && c.options.Renew(ctx, canonical(a.server), old.mark()) == nil {
		now, err := c.store.login(ctx, old)
		if err == nil && now.isOther(old) {
			a.set(now)
			return nil
		}
	}
	return c.store.while(ctx, old, func(ctx context.Context, hold state.Hold) error {
		now, err := c.store.login(ctx, old)
		if err != nil {
			return err
		}
		if now.isOther(old) {
			a.set(now)
			return nil
		}
		if now == nil { // another process logged out
			a.set(nil)
			return &Error{Code: "logged out", Status: http.StatusUnauthorized}
		}
		next, err := c.nextToken(ctx, old)
		if isRefusal(err) {
			a.set(nil)
			if err := c.store.forget(ctx, old, hold); err != nil {
				c.options.Logger.WarnContext(ctx, "a token that was refused cannot be forgotten", "server", canonical(a.server), "error", err)
			}
		}
		if next != nil {
			c.keep(ctx, a, &login{Server: old.Server, Resource: old.Resource, Issuer: old.Issuer, Client: old.Client, Proof: old.Proof, Token: *next}, hold)
		}
		return err
	})
}

// nextToken requests a token that replaces the old one. It may return a token together with an
// error. The new refresh token must then be stored, as the old one can no longer be used.
func (c *Client) nextToken(ctx context.Context, old *login) (*accessToken, error) {
	if c.options.Grant != nil {
		return c.granted(ctx, old, old.Token.Scopes)
	}
	next, err := c.token(ctx, old, old.form(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Token.Refresh}}), old.Token.Scopes)
	if err != nil {
		return nil, err
	}
	next.Refresh = cmp.Or(next.Refresh, old.Token.Refresh)
	if old.isIdentity() {
		err = old.identifyAgain(next, c.now())
	}
	return next, err
}

// keep makes a login the current one, in memory and in the store. If it cannot be stored, the user
// must log in again later, but no current request fails.
func (c *Client) keep(ctx context.Context, a *access, l *login, hold state.Hold) {
	a.set(l)
	if err := c.store.save(ctx, canonical(a.server), l, hold); err != nil {
		c.options.Logger.WarnContext(ctx, "a token cannot be stored", "server", canonical(a.server), "error", err)
	}
}

// authorize obtains a token in place of the refused one, as the challenge requires; refused may be
// nil. It reports whether it requested a new token from an authorization server.
func (c *Client) authorize(ctx context.Context, a *access, refused *login, asked challenge, more bool) (isNew bool, err error) {
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return false, err
	}
	defer unlock()
	if now, _ := a.current(); now.isOther(refused) {
		return false, nil // another request obtained a token in the meantime
	}
	stored, err := c.store.ofServer(ctx, canonical(a.server))
	if err != nil {
		return false, err
	}
	if stored.isOther(refused) && (!more || stored.covers(asked.scopes)) {
		a.set(stored)
		return false, nil
	}
	defer func() { a.ended("", err) }()
	if refused != nil && refused.Token.Refresh != "" && !more {
		if err := c.renew(ctx, a, refused); !isRefusal(err) {
			return false, err
		}
	}
	if c.options.Visit == nil && c.options.Grant == nil {
		if more {
			return false, &RightsError{asked.scopes}
		}
		return false, c.wantsLogin(from(ctx, a.server), a, asked)
	}
	return true, c.obtain(from(ctx, a.server), a, refused, asked, more)
}

// errNotOAuth reports that a server names no authorization server.
var errNotOAuth = errors.New("the server names no authorization server; it may need a key in a header")

// wantsLogin returns ErrLogin, or errNotOAuth if the server names no authorization server.
func (c *Client) wantsLogin(ctx context.Context, a *access, asked challenge) error {
	if asked.metadata != "" {
		return ErrLogin
	}
	protected, err := c.resourceOf(ctx, a.server, "")
	if err == nil && protected == nil {
		_, err = c.issuerOf(ctx, a.server.Scheme+"://"+a.server.Host) // as in revision 2025-03-26
	}
	if errors.Is(err, oauthdoc.ErrNone) {
		return errNotOAuth
	}
	return ErrLogin
}

// obtain obtains a token from the authorization server of a.server. The caller holds the turn.
func (c *Client) obtain(ctx context.Context, a *access, refused *login, asked challenge, more bool) error {
	if a.server.Scheme != "https" && !isHere(a.server.Hostname()) {
		return fmt.Errorf("%s does not use https, and junction sends tokens only over https", canonical(a.server))
	}
	l, scopes, err := c.discover(ctx, a, asked)
	if err != nil {
		return err
	}
	if more && refused != nil {
		scopes = union(refused.Token.Scopes, asked.scopes)
	}
	scopes = union(scopes, c.options.Scopes)
	return c.store.while(ctx, l, func(ctx context.Context, hold state.Hold) error {
		now, err := c.store.login(ctx, l)
		if err != nil && !errors.Is(err, ErrKey) { // a login sealed with another key is replaced
			return err
		}
		if now.isOther(refused) && (!more || now.covers(scopes)) {
			c.keep(ctx, a, now, hold)
			return nil
		}
		token, err := (*accessToken)(nil), error(nil)
		if c.options.Grant != nil {
			token, err = c.granted(ctx, l, scopes)
		} else {
			token, err = c.visit(ctx, l, scopes)
		}
		if err != nil && l.guessed {
			err = fmt.Errorf("%w: %w", errNotOAuth, err)
		}
		if err != nil {
			return err
		}
		l.Token = *token
		c.keep(ctx, a, l, hold)
		return nil
	})
}

// isRefusal reports whether an authorization server refused a request. All other errors may be
// temporary.
func isRefusal(err error) bool {
	refused, is := errors.AsType[*Error](err)
	return is && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests &&
		!slices.Contains([]string{"temporarily_unavailable", "server_error", "slow_down"}, refused.Code)
}

// discover finds the authorization server of a server, and the scopes to request. The returned
// login has no token yet.
func (c *Client) discover(ctx context.Context, a *access, asked challenge) (l *login, scopes []string, err error) {
	protected, err := c.resourceOf(ctx, a.server, asked.metadata)
	if err != nil {
		return nil, nil, err
	}
	if protected == nil { // 2025-03-26: the server's own origin issues tokens
		origin := a.server.Scheme + "://" + a.server.Host
		l := &login{Server: canonical(a.server), Resource: canonical(a.server)}
		of, err := c.issuerOf(ctx, origin)
		if errors.Is(err, oauthdoc.ErrNone) {
			of, err = &issuer{Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register", Challenges: []string{"S256"}}, nil
			l.guessed = true // the default endpoints of a server without metadata
		}
		l.Issuer = of
		return l, asked.scopes, err
	}
	scopes = asked.scopes
	if len(scopes) == 0 {
		scopes = protected.Scopes
	}
	var faults []error
	for _, server := range protected.Servers {
		of, err := c.issuerOf(ctx, server)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		l := &login{Server: canonical(a.server), Resource: protected.Resource, Issuer: of}
		if asked.proof || bool(protected.Bound) {
			l.Proof, err = newProofKey(of.ProofAlgorithms)
		}
		return l, scopes, err
	}
	return nil, nil, errors.Join(faults...)
}

// union returns the scopes in a or b, without duplicates.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, scope := range b {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}
