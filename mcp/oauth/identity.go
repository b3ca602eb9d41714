package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/state"
)

// identityPause is how long the client waits before it requests an ID token from a provider again,
// after a renewal that returned none.
const identityPause = 10 * time.Minute

// An Identity is the login of a user at their organization's identity provider, with OpenID
// Connect. It is used for all MCP servers whose authorization servers trust that provider; see
// [Enterprise].
type Identity struct {
	client *Client
	issuer string
}

// Identity returns the login at an identity provider, which is in the store of the client. If the
// options have neither Registered nor Document for the provider, the client registers itself.
func (c *Client) Identity(issuer string) *Identity { return &Identity{c, issuer} }

// server returns the key of the login in place of a server's URL. No server has a URL with this
// scheme.
func (i *Identity) server() string { return "openid+" + i.issuer }

// Login sends the user to the login page, even if they are logged in.
func (i *Identity) Login(ctx context.Context) (*Login, error) {
	c := i.client
	u, err := serverURL(i.server())
	if err != nil {
		return nil, err
	}
	if c.options.Visit == nil {
		return nil, ErrLogin
	}
	a := c.accessTo(u)
	unlock, err := a.lock(ctx, "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	ctx = from(ctx, u)
	l := &login{Server: i.issuer}
	if l.Issuer, err = c.issuerOf(ctx, i.issuer); err != nil {
		return nil, fmt.Errorf("the identity provider: %w", err)
	}
	err = c.store.while(ctx, l, func(ctx context.Context, hold state.Hold) error {
		token, err := c.visit(ctx, l, union([]string{"openid"}, c.options.Scopes))
		if err != nil {
			return err
		}
		l.Token = *token
		if err := c.store.save(ctx, canonical(u), l, hold); err != nil {
			return fmt.Errorf("it cannot be stored: %w", err)
		}
		a.set(l)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("log in at the identity provider %s: %w", i.issuer, err)
	}
	return l.public(), nil
}

// Token returns the user's ID token. It renews the token if it expires soon. The error is
// [ErrLogin] if the user must log in.
func (i *Identity) Token(ctx context.Context) (string, error) {
	c := i.client
	u, err := serverURL(i.server())
	if err != nil {
		return "", err
	}
	l, err := c.fresh(ctx, c.accessTo(u))
	switch {
	case err != nil:
		return "", fmt.Errorf("the login at %s cannot be renewed: %w", i.issuer, err)
	case l == nil || !c.now().Before(l.Token.Expires):
		return "", ErrLogin
	}
	if c.options.Registered != nil {
		if r, ok := c.options.Registered(i.issuer); ok && r.ID != l.Client.ID {
			return "", fmt.Errorf("the login at %s is that of the client %s: %w", i.issuer, plain(l.Client.ID), ErrLogin)
		}
	}
	return l.Token.Identity, nil
}

// Current returns the stored login, or [ErrNoLogin].
func (i *Identity) Current(ctx context.Context) (*Login, error) {
	return i.client.LoginOf(ctx, i.server())
}

// Logout removes the login, as [Client.Logout] does.
func (i *Identity) Logout(ctx context.Context) (was *Login, revoked bool, err error) {
	return i.client.Logout(ctx, i.server())
}

// identityClaims are the claims of an ID token (OpenID Connect Core section 2).
type identityClaims struct {
	Issuer   string    `json:"iss"`
	Subject  string    `json:"sub"`
	Audience jws.Texts `json:"aud"`
	Party    string    `json:"azp"`
	Expires  float64   `json:"exp"`
	Nonce    string    `json:"nonce"`
}

// identify checks that the ID token received for a code belongs to this login. It does not verify
// the signature, as the token came from the provider itself (section 3.1.3.7) and is sent only to
// the provider.
func (l *login) identify(t *accessToken, nonce string, now time.Time) error {
	if t.Identity == "" {
		return errors.New("the response has no id_token")
	}
	c, err := l.claims(t, now)
	if err == nil && c.Nonce != nonce {
		err = errors.New("the ID token belongs to another login (nonce)")
	}
	return err
}

// identifyAgain checks the ID token of a renewal, which must belong to the same user (section
// 12.2). If the new ID token is invalid, the old one is used until it expires. The same applies if
// the provider sends no new ID token, which the specification allows; the client then waits before
// it requests one again.
func (l *login) identifyAgain(next *accessToken, now time.Time) (err error) {
	if next.Identity != "" {
		var c identityClaims
		if c, err = l.claims(next, now); err == nil {
			was, _ := l.claims(&accessToken{Identity: l.Token.Identity}, now) // the old token may have expired
			if c.Subject == was.Subject {
				return nil
			}
			err = fmt.Errorf("the ID token is of the user %.200q, not of %.200q", c.Subject, was.Subject)
		}
	} else {
		next.Again = now.Add(identityPause)
	}
	next.Identity, next.Expires = l.Token.Identity, l.Token.Expires
	return err
}

// claims decodes an ID token, and sets the expiry of the login to the expiry of the token.
func (l *login) claims(t *accessToken, now time.Time) (c identityClaims, err error) {
	if err := jws.Unverified(t.Identity, &c); err != nil {
		return c, fmt.Errorf("the ID token is not a JWT: %w", err)
	}
	switch {
	case !oauthdoc.Same(c.Issuer, l.Issuer.Issuer):
		return c, fmt.Errorf("the ID token was issued by %.200q, not by %s", c.Issuer, l.Issuer.Issuer)
	case !slices.Contains(c.Audience, l.Client.ID) || c.Party != "" && c.Party != l.Client.ID:
		return c, fmt.Errorf("the ID token is for %.200q, not for %s", c.Audience, plain(l.Client.ID))
	}
	left := time.Duration(min(c.Expires-float64(now.Unix()), maxExpires.Seconds()) * float64(time.Second))
	if left <= 0 {
		return c, errors.New("the ID token has expired already; check the clock of this machine")
	}
	t.Expires = now.Add(left)
	return c, nil
}
