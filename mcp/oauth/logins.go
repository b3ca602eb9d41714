package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/junction-mcp/junction/state"
)

// A Login says what an authorization server lets the client do. It holds no secret.
type Login struct {
	Server   string    // for which it began
	Resource string    // that it is for
	Issuer   string    // the authorization server
	ClientID string    // what the client is there
	Scopes   []string  // that were granted
	Since    time.Time // when the present token was got
	Expires  time.Time // when it ends; zero: not known
	Renews   bool      // whether it is replaced then without the user
	Bound    bool      // whether a proof goes with it, so that it is of no use to somebody else (DPoP)
	Identity bool      // whether it says who the user is, and is for no server; see [Identity]
}

func (l *login) public() *Login {
	return &Login{l.Server, l.Resource, l.Issuer.Issuer, l.Client.ID, l.Token.Scopes, l.Token.At, l.Token.Expires, l.Token.Refresh != "", l.Token.Bound, l.isIdentity()}
}

var (
	// ErrNoLogin says that a server has no login.
	ErrNoLogin = errors.New("there is no login")
	// ErrNotWanted says that a server asks nobody to log in.
	ErrNotWanted = errors.New("the server asks nobody to log in")
)

// Login has the user log in at the authorization server of an MCP server, also if they are already. base asks the
// MCP server what it wants; nil is http.DefaultTransport. The error is [ErrNotWanted] where that is nothing. What could
// not be stored is an error.
func (c *Client) Login(ctx context.Context, server string, base http.RoundTripper) (*Login, error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	asked, wanted, err := c.probe(ctx, u, base)
	if err != nil {
		return nil, err
	}
	if !wanted {
		return nil, ErrNotWanted
	}
	a := c.accessTo(u)
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.options.Visit == nil && c.options.Grant == nil {
		return nil, ErrLogin
	}
	before, err := c.store.ofServer(ctx, canonical(u))
	if err != nil && !errors.Is(err, ErrKey) { // what another key sealed is replaced
		return nil, err
	}
	if err := c.obtain(from(ctx, u), a, before, asked, false); err != nil {
		return nil, fmt.Errorf("log in at the authorization server of %s: %w", u.Host, err)
	}
	now, _ := a.current()
	stored, err := c.store.login(ctx, now)
	if err == nil && stored.isOther(now) || stored == nil {
		err = errors.New("it is gone again")
	}
	if err != nil {
		return nil, fmt.Errorf("the login at %s cannot be stored: %w", now.Issuer.Issuer, err)
	}
	return now.public(), nil
}

// LoginOf is the login that a server uses, or [ErrNoLogin].
func (c *Client) LoginOf(ctx context.Context, server string) (*Login, error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	l, err := c.store.ofServer(ctx, canonical(u))
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, ErrNoLogin
	}
	return l.public(), nil
}

// Logins are all that the store has.
func (c *Client) Logins(ctx context.Context) ([]*Login, error) {
	logins, err := c.store.logins(ctx)
	var all []*Login
	for _, l := range logins {
		all = append(all, l.public())
	}
	return all, err
}

// Renew replaces the token of the login that a server uses, if it is the one with this mark: it expires soon, or was refused
// before that, which who asks knows; see [Options.Renew].
func (c *Client) Renew(ctx context.Context, server, mark string) error {
	u, err := serverURL(server)
	if err != nil {
		return err
	}
	a := c.accessTo(u)
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return err
	}
	defer unlock()
	l, err := c.store.ofServer(ctx, canonical(u))
	if err != nil || l == nil || l.Token.Refresh == "" || l.mark() != mark {
		return err
	}
	return c.renew(ctx, a, l)
}

// Logout forgets the login that a server uses, with those of other servers that use the same, and has the
// authorization server revoke its tokens, where that can be done (RFC 7009). revoked reports whether it was; the
// error is [ErrNoLogin] without a login.
func (c *Client) Logout(ctx context.Context, server string) (was *Login, revoked bool, err error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, false, err
	}
	a := c.accessTo(u)
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	l, err := c.store.ofServer(ctx, canonical(u))
	if err != nil {
		return nil, false, err
	}
	if l == nil {
		return nil, false, ErrNoLogin
	}
	err = c.store.while(ctx, l, func(ctx context.Context, hold state.Hold) error {
		now, err := c.store.login(ctx, l)
		if err != nil {
			return err
		}
		if now != nil {
			l = now
		}
		revoked = c.revoke(from(ctx, u), l) == nil
		return c.store.forget(ctx, l, hold)
	})
	a.set(nil)
	return l.public(), revoked, err
}

// revoke has an authorization server forget the tokens of a login.
func (c *Client) revoke(ctx context.Context, l *login) error {
	if l.Issuer.Revoke == "" {
		return errors.New("the authorization server names no revocation_endpoint")
	}
	token, kind := l.Token.Refresh, "refresh_token"
	if token == "" {
		token, kind = l.Token.Access, "access_token"
	}
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	header, err := c.identify(l.Issuer, c.whole(l.Issuer, &l.Client), form)
	if err != nil {
		return err
	}
	return c.post(ctx, l.Issuer.Revoke, header, form.Encode(), nil)
}
