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

// fresh is the login whose token is to be sent; nil without one. A token that expires soon is replaced before, by
// one caller while the others wait.
func (c *Client) fresh(ctx context.Context, a *access) (*login, error) {
	l, looked := a.current()
	if !looked {
		if err := c.look(ctx, a); err != nil {
			// The server may not want any token. If it does, authorize finds the fault again.
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
			err = nil // the server says next what it wants
		}
		a.ended("", err)
	}
	if err != nil && ctx.Err() == nil && c.now().Before(l.Token.Expires) {
		return l, nil // it is still good
	}
	l, _ = a.current()
	return l, err
}

// look takes what the store has of a server.
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

// renew gets the next token for an old one, in the one process that may: the others find it in the store. What the
// authorization server refuses is forgotten. The turn is held.
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
		if now == nil { // logged out by somebody else
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

// nextToken asks for a token in place of an old one. What is to be kept may come with an error: the old refresh token was used.
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

// keep makes a login the current one, here and in the store. A store that fails costs another login later, and no
// request now.
func (c *Client) keep(ctx context.Context, a *access, l *login, hold state.Hold) {
	a.set(l)
	if err := c.store.save(ctx, canonical(a.server), l, hold); err != nil {
		c.options.Logger.WarnContext(ctx, "a token cannot be stored", "server", canonical(a.server), "error", err)
	}
}

// authorize gets a token in place of one that was refused (nil for none), as the challenge asks for. It reports
// whether an authorization server was asked for a new one.
func (c *Client) authorize(ctx context.Context, a *access, refused *login, asked challenge, more bool) (isNew bool, err error) {
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return false, err
	}
	defer unlock()
	if now, _ := a.current(); now.isOther(refused) {
		return false, nil // somebody else got one meanwhile
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

// errNotOAuth says that a server names nobody who gives tokens.
var errNotOAuth = errors.New("the server names no authorization server; what it wants may be a key in a header")

// wantsLogin is ErrLogin, unless a server says nothing of who gives tokens.
func (c *Client) wantsLogin(ctx context.Context, a *access, asked challenge) error {
	if asked.metadata != "" {
		return ErrLogin
	}
	protected, err := c.resourceOf(ctx, a.server, "")
	if err == nil && protected == nil {
		_, err = c.issuerOf(ctx, a.server.Scheme+"://"+a.server.Host) // as 2025-03-26 has it
	}
	if errors.Is(err, oauthdoc.ErrNone) {
		return errNotOAuth
	}
	return ErrLogin
}

// obtain gets a token from the authorization server of the access's server. The turn is held.
func (c *Client) obtain(ctx context.Context, a *access, refused *login, asked challenge, more bool) error {
	if a.server.Scheme != "https" && !isHere(a.server.Hostname()) {
		return fmt.Errorf("%s is not reached over https, and tokens are not sent where others can read them", canonical(a.server))
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
		if err != nil && !errors.Is(err, ErrKey) { // what another key sealed is replaced
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

// isRefusal reports whether an authorization server said no; another error may not come again.
func isRefusal(err error) bool {
	refused, is := errors.AsType[*Error](err)
	return is && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests &&
		!slices.Contains([]string{"temporarily_unavailable", "server_error", "slow_down"}, refused.Code)
}

// discover finds out who gives tokens for a server, and which scopes to ask for. The login has no token yet.
func (c *Client) discover(ctx context.Context, a *access, asked challenge) (l *login, scopes []string, err error) {
	protected, err := c.resourceOf(ctx, a.server, asked.metadata)
	if err != nil {
		return nil, nil, err
	}
	if protected == nil { // 2025-03-26: the server's own origin gives tokens
		origin := a.server.Scheme + "://" + a.server.Host
		l := &login{Server: canonical(a.server), Resource: canonical(a.server)}
		of, err := c.issuerOf(ctx, origin)
		if errors.Is(err, oauthdoc.ErrNone) {
			of, err = &issuer{Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register", Challenges: []string{"S256"}}, nil
			l.guessed = true // these are the endpoints of one that publishes no metadata
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

// union are the scopes of both, each once.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, scope := range b {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}
