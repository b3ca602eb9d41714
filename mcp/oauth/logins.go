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

// A Login describes the permission of an authorization server for the client. It contains no
// secrets.
type Login struct {
	Server   string    // the server that it was obtained for
	Resource string    // the resource of its token
	Issuer   string    // the authorization server
	ClientID string    // the client's ID there
	Scopes   []string  // granted scopes
	Since    time.Time // when the current token was obtained
	Expires  time.Time // expiry of the token; zero if unknown
	Renews   bool      // set if the token is renewed without the user
	Bound    bool      // set if the token needs a proof and is useless to others (DPoP)
	Identity bool      // set if it identifies the user and is not for a server; see [Identity]
}

func (l *login) public() *Login {
	return &Login{l.Server, l.Resource, l.Issuer.Issuer, l.Client.ID, l.Token.Scopes, l.Token.At, l.Token.Expires, l.Token.Refresh != "", l.Token.Bound, l.isIdentity()}
}

var (
	// ErrNoLogin reports that a server has no login.
	ErrNoLogin = errors.New("there is no login")
	// ErrNotWanted reports that a server requires no login.
	ErrNotWanted = errors.New("the server needs no login")
)

// Login sends the user to the login page of the authorization server of an MCP server, even if they
// are logged in. The RoundTripper base sends the request that finds the MCP server's requirements;
// nil means http.DefaultTransport. The error is [ErrNotWanted] if the server requires no login.
// Login also fails if the login cannot be stored.
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
	if err != nil && !errors.Is(err, ErrKey) { // a login sealed with another key is replaced
		return nil, err
	}
	if err := c.obtain(from(ctx, u), a, before, asked, false); err != nil {
		return nil, fmt.Errorf("log in at the authorization server of %s: %w", u.Host, err)
	}
	now, _ := a.current()
	stored, err := c.store.login(ctx, now)
	if err == nil && stored.isOther(now) || stored == nil {
		err = errors.New("it was removed again")
	}
	if err != nil {
		return nil, fmt.Errorf("the login at %s cannot be stored: %w", now.Issuer.Issuer, err)
	}
	return now.public(), nil
}

// LoginOf returns the login that a server uses, or [ErrNoLogin].
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

// Logins returns all logins in the store.
func (c *Client) Logins(ctx context.Context) ([]*Login, error) {
	logins, err := c.store.logins(ctx)
	var all []*Login
	for _, l := range logins {
		all = append(all, l.public())
	}
	return all, err
}

// Renew replaces the token of the login that a server uses, if mark identifies that token. The
// caller knows that the token expires soon or was refused; see [Options.Renew].
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

// Logout removes the login that a server uses; other servers may use the same login. If possible,
// it revokes the tokens at the authorization server (RFC 7009), and reports that in revoked. The
// error is [ErrNoLogin] if there is no login.
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

// revoke revokes the tokens of a login at the authorization server.
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
