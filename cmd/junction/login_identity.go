package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// loginAtProvider logs in at the organization's identity provider that a server's entry names, for all servers that trust it,
// and gets a token for this one, so that a provider that gives none says so now.
func (a *app) loginAtProvider(ctx context.Context, s signer, visit func(ctx context.Context, redirect string) (*oauth.Visit, error)) error {
	o, err := a.tokenOptions(s.auth, visit)
	if err != nil {
		return err
	}
	l, err := a.identity(&s.auth, o).Login(ctx)
	if err != nil {
		return err
	}
	a.out.Printf("Logged in: %s\n", describeLogin(l, time.Now()))
	l, err = oauth.New(o).Login(ctx, s.url, nil)
	switch {
	case errors.Is(err, oauth.ErrNotWanted):
		a.out.Printf("%s asks nobody to log in.\n", plaintext.Line(s.name, 200))
		return nil
	case err != nil:
		return fmt.Errorf("%s knows you now, and there is no token for %s: %w", plaintext.Line(s.auth.IdentityProvider, 200), plaintext.Line(s.name, 200), err)
	}
	a.out.Printf("A token: %s\n", describeLogin(l, time.Now()))
	return lacking(l, s.asks)
}

// logoutAtProvider forgets the token for a server and the login at the identity provider.
func (a *app) logoutAtProvider(ctx context.Context, s signer) error {
	o, err := a.tokenOptions(s.auth, nil)
	if err != nil {
		return err
	}
	_, _, errToken := oauth.New(o).Logout(ctx, s.url)
	_, revoked, err := a.identity(&s.auth, o).Logout(ctx)
	none := errors.Is(err, oauth.ErrNoLogin)
	switch {
	case errToken != nil && !errors.Is(errToken, oauth.ErrNoLogin):
		return errToken
	case err != nil && !none:
		return err
	case none && errToken != nil:
		a.out.Printf("You are not logged in at %s.\n", plaintext.Line(s.auth.IdentityProvider, 200))
	case none:
		a.out.Printf("The token for %s is forgotten; you are not logged in at %s.\n", plaintext.Line(s.name, 200), plaintext.Line(s.auth.IdentityProvider, 200))
	default:
		how := "Logged out here: %s revokes nothing."
		if revoked {
			how = "Logged out: %s revoked it."
		}
		a.out.Printf(how+" Tokens of other servers hold until they expire.\n", plaintext.Line(s.auth.IdentityProvider, 200))
	}
	return nil
}

// whoAtProvider is the login at the identity provider, and the token for a server if there is one.
func (a *app) whoAtProvider(ctx context.Context, s signer) ([]*oauth.Login, error) {
	o, err := a.tokenOptions(s.auth, nil)
	if err != nil {
		return nil, err
	}
	l, err := a.identity(&s.auth, o).Current(ctx)
	if errors.Is(err, oauth.ErrNoLogin) {
		return nil, fmt.Errorf("you are not logged in at %s; junction login %s does it", plaintext.Line(s.auth.IdentityProvider, 200), shellWord(s.name))
	}
	if err != nil {
		return nil, err
	}
	all := []*oauth.Login{l}
	token, err := oauth.New(o).LoginOf(ctx, s.url)
	switch {
	case errors.Is(err, oauth.ErrNoLogin):
	case err != nil:
		return nil, err
	default:
		all = append(all, token)
	}
	return all, nil
}
