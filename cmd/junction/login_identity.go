package main

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/oauth"
)

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
