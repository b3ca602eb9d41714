package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	maxRedirects  = 20       // redirect URIs of one client
	maxRedirect   = 2 << 10  // largest size of a redirect URI in bytes
	maxClientName = 200      // bytes
	maxClientID   = 2 << 10  // bytes
	maxClientText = 16 << 10 // largest size of a client's registration or document in bytes
)

// errNoClient reports that a client is unknown.
var errNoClient = errors.New("the client is unknown here: it must register again")

// A client is a program that requests tokens. It describes itself (RFC 7591).
type client struct {
	ID        string    `json:"client_id"`
	Name      string    `json:"client_name,omitempty"`
	Redirects []string  `json:"redirect_uris"`
	Made      time.Time `json:"made,omitzero"`   // time of the registration; zero for a client with a document
	Owner     string    `json:"owner,omitempty"` // user who first allowed it, or empty
	Used      time.Time `json:"used,omitzero"`   // last recorded use

	// Keys or KeysAt is set for a client that authenticates with signed assertions
	// (private_key_jwt). KeysAt is the URL where the client publishes its keys. Without either, the
	// client does not authenticate.
	Keys   jws.Keys `json:"jwks,omitempty"`
	KeysAt string   `json:"jwks_uri,omitempty"`
}

// signs reports whether the client authenticates with signed assertions.
func (c *client) signs() bool { return len(c.Keys) > 0 || c.KeysAt != "" }

// isDocument reports whether the ID is the URL of the client's document. No other client can have
// such an ID.
func (c *client) isDocument() bool { return c.Made.IsZero() }

const clientPrefix = "authserver/client/"

// client returns the client with the ID.
func (s *Server) client(ctx context.Context, id string) (*client, error) {
	return s.lookUp(ctx, id, false)
}

// lookUp returns the client with the ID. If again is set, it reads the client's document again,
// unless the last read was a moment ago.
func (s *Server) lookUp(ctx context.Context, id string, again bool) (*client, error) {
	switch {
	case id == "" || len(id) > maxClientID:
		return nil, errNoClient
	case strings.Contains(id, "://") && !s.options.RegisteredOnly:
		return s.described(ctx, id, again)
	}
	c, _, err := s.registered(ctx, id)
	return c, err
}

// registered returns a client that registered itself, by its ID.
func (s *Server) registered(ctx context.Context, id string) (*client, state.Version, error) {
	c := new(client)
	version, err := s.load(ctx, clientPrefix+hash(id), c)
	if errors.Is(err, state.ErrNotFound) {
		err = errNoClient
	}
	return c, version, err
}

// checkRedirects returns an error if a client may not register the redirect URIs.
func checkRedirects(all []string) error {
	if len(all) == 0 || len(all) > maxRedirects {
		return fmt.Errorf("redirect_uris: expected 1 to %d addresses, got %d", maxRedirects, len(all))
	}
	for _, text := range all {
		u, err := url.Parse(text)
		switch {
		case err != nil || len(text) > maxRedirect || u.Scheme == "" || u.Fragment != "" || strings.Contains(text, "#") || u.User != nil || strings.ContainsAny(text, "\\ \t\r\n\"'<>*"):
			return fmt.Errorf("redirect_uris: %.200q is not a valid address", text)
		case u.Scheme == "https":
			if u.Host == "" || strings.ContainsAny(u.Host, ";,") {
				return fmt.Errorf("redirect_uris: %.200q has no host", text)
			}
		case u.Scheme == "http":
			if !outside.IsHere(u.Hostname()) {
				return fmt.Errorf("redirect_uris: %.200q is not encrypted; http is allowed only for this machine: http://127.0.0.1/…", text)
			}
		case slices.Contains([]string{"javascript", "data", "file", "about", "blob", "vbscript", "ftp", "ws", "wss", "view-source", "mailto", "tel"}, strings.ToLower(u.Scheme)):
			return fmt.Errorf("redirect_uris: %.200q is not an address of a program", text)
		}
	}
	return nil
}

// allowsRedirect reports whether the client may use a redirect URI. It must be one of its own, byte
// for byte, or an http URI of this machine that differs only in its port (RFC 8252 section 7.3).
func (c *client) allowsRedirect(to string) bool {
	if slices.Contains(c.Redirects, to) {
		return true
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" || !outside.IsHere(u.Hostname()) || checkRedirects([]string{to}) != nil {
		return false
	}
	return slices.ContainsFunc(c.Redirects, func(has string) bool {
		h, err := url.Parse(has)
		return err == nil && h.Scheme == "http" && h.Hostname() == u.Hostname() && h.EscapedPath() == u.EscapedPath() && h.RawQuery == u.RawQuery
	})
}

// A protocolClient adapts a client to package op. The client either cannot keep a secret or signs
// assertions.
type protocolClient struct {
	*client
	scopes    []string   // all scopes of the server
	assertion *assertion // the assertion of the request, or nil
}

// GetID implements [op.Client].
func (c protocolClient) GetID() string { return c.ID }

// RedirectURIs implements [op.Client].
func (c protocolClient) RedirectURIs() []string { return c.Redirects }

// PostLogoutRedirectURIs implements [op.Client].
func (c protocolClient) PostLogoutRedirectURIs() []string { return nil }

// ApplicationType implements [op.Client].
func (c protocolClient) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }

// AuthMethod implements [op.Client].
func (c protocolClient) AuthMethod() oidc.AuthMethod {
	if c.signs() {
		return oidc.AuthMethodPrivateKeyJWT
	}
	return oidc.AuthMethodNone
}

// ResponseTypes implements [op.Client].
func (c protocolClient) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

// GrantTypes implements [op.Client].
func (c protocolClient) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
}

// LoginURL implements [op.Client].
func (c protocolClient) LoginURL(string) string { return loginPath }

// AccessTokenType implements [op.Client].
func (c protocolClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// IDTokenLifetime implements [op.Client]. There are no ID tokens.
func (c protocolClient) IDTokenLifetime() time.Duration { return 0 }

// DevMode implements [op.Client].
func (c protocolClient) DevMode() bool { return false }

// RestrictAdditionalIdTokenScopes implements [op.Client].
//
//lint:ignore ST1003 the interface has it
func (c protocolClient) RestrictAdditionalIdTokenScopes() func(scopes []string) []string { return same }

// RestrictAdditionalAccessTokenScopes implements [op.Client].
func (c protocolClient) RestrictAdditionalAccessTokenScopes() func(scopes []string) []string {
	return same
}

func same(scopes []string) []string { return scopes }

// IsScopeAllowed implements [op.Client].
func (c protocolClient) IsScopeAllowed(scope string) bool { return slices.Contains(c.scopes, scope) }

// IDTokenUserinfoClaimsAssertion implements [op.Client].
func (c protocolClient) IDTokenUserinfoClaimsAssertion() bool { return false }

// ClockSkew implements [op.Client].
func (c protocolClient) ClockSkew() time.Duration { return 0 }
