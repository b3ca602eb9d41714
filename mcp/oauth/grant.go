package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Grant returns the parameters of a token request without a user. They must contain at least
// grant_type. The client adds resource, scope and its authentication.
type Grant func(ctx context.Context, asked Asked) (url.Values, error)

// Asked describes the token that a client requests.
type Asked struct {
	Issuer   string // the authorization server
	Resource string // the resource of the token
	Scopes   []string
}

const (
	grantAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange  = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// ClientCredentials returns the grant of a client that acts for itself (RFC 6749 section 4.4). The
// secret or key of the client must be in [Options.Registered].
func ClientCredentials() Grant {
	return func(context.Context, Asked) (url.Values, error) {
		return url.Values{"grant_type": {"client_credentials"}}, nil
	}
}

// Assertion returns the grant of a client with a signed statement from an issuer that the
// authorization server trusts (RFC 7523 section 2.1). For example, a cloud workload reads its
// statement from a file. The function get returns the statement.
func Assertion(get func(ctx context.Context, asked Asked) (string, error)) Grant {
	return func(ctx context.Context, asked Asked) (url.Values, error) {
		statement, err := get(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("a statement for %s: %w", asked.Issuer, err)
		}
		return url.Values{"grant_type": {grantAssertion}, "assertion": {strings.TrimSpace(statement)}}, nil
	}
}

// TokenExchange returns the grant of a client that acts for a user (RFC 8693), such as a gateway.
// It exchanges the user's token for a token that is valid only at the requested server. The user's
// own token is sent only to the authorization server, and never to the requested server. The
// function get returns the user's token. A [Store] holds one login for each server. So use a
// separate [Client] and Store for each user.
func TokenExchange(get func(ctx context.Context, asked Asked) (string, error)) Grant {
	return func(ctx context.Context, asked Asked) (url.Values, error) {
		token, err := get(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("the user's token for %s: %w", asked.Issuer, err)
		}
		return url.Values{
			"grant_type": {grantExchange}, "subject_token": {token}, "subject_token_type": {typeAccess}, "requested_token_type": {typeAccess},
		}, nil
	}
}

// An IdentityProvider is the login service of an organization, which decides about the access of
// its users. It is part of Enterprise-Managed Authorization
// (io.modelcontextprotocol/enterprise-managed-authorization).
type IdentityProvider struct {
	Issuer string       // the issuer identifier
	Token  string       // token endpoint; empty means the one in the provider's metadata
	Client Registration // the client's registration with the provider
	// Identity returns the user's ID token of this provider.
	Identity func(ctx context.Context) (string, error)
	// HTTP sends the requests to the provider. The default is a client from [Guarded] without
	// exceptions.
	HTTP *http.Client
}

// Enterprise returns the grant of a user of an identity provider. The user's ID token is exchanged
// at the provider (RFC 8693) for a statement for the authorization server.
func Enterprise(p IdentityProvider) Grant {
	c := &Client{http: p.HTTP, now: time.Now}
	if c.http == nil {
		c.http = Guarded(nil)
	}
	return Assertion(func(ctx context.Context, asked Asked) (string, error) {
		return c.exchange(ctx, p, asked)
	})
}

// The token types (RFC 8693 section 3).
const (
	typeIdentity = "urn:ietf:params:oauth:token-type:id_token"
	typeAccess   = "urn:ietf:params:oauth:token-type:access_token"
	typeGrant    = "urn:ietf:params:oauth:token-type:id-jag"
)

func (c *Client) exchange(ctx context.Context, p IdentityProvider, asked Asked) (string, error) {
	of := &issuer{Issuer: p.Issuer, Token: p.Token}
	if p.Token == "" {
		var err error
		if of, err = c.issuerOf(ctx, p.Issuer); err != nil {
			return "", err
		}
	}
	identity, err := p.Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("the user's ID token of %s: %w", p.Issuer, err)
	}
	form := url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {typeGrant},
		"subject_token": {identity}, "subject_token_type": {typeIdentity}, "audience": {asked.Issuer}, "resource": {asked.Resource},
	}
	if len(asked.Scopes) > 0 {
		form.Set("scope", strings.Join(asked.Scopes, " "))
	}
	header, err := c.identify(of, &p.Client, form)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"access_token"`
		Type  string `json:"issued_token_type"`
	}
	if err := c.post(ctx, of.Token, header, form.Encode(), &answer); err != nil {
		return "", fmt.Errorf("the identity provider %s: %w", p.Issuer, err)
	}
	if answer.Type != typeGrant || answer.Token == "" {
		return "", fmt.Errorf("the identity provider %s: expected a token of type %s, got %.100q", p.Issuer, typeGrant, answer.Type)
	}
	return answer.Token, nil
}

// errUnregistered is the error for a client without a user that the authorization server does not
// know.
var errUnregistered = errors.New("without a user, the client must be registered beforehand, and it is not")

// granted requests a token with the Grant of the options.
func (c *Client) granted(ctx context.Context, l *login, scopes []string) (*accessToken, error) {
	if c.options.Registered != nil {
		if r, ok := c.options.Registered(l.Issuer.Issuer); ok {
			l.Client = r.stored()
		}
	}
	if l.Client.ID == "" && c.options.Document != "" && l.Issuer.Documents {
		l.Client = Registration{ID: c.options.Document}
	}
	if l.Client.ID == "" {
		return nil, fmt.Errorf("the authorization server %s: %w", l.Issuer.Issuer, errUnregistered)
	}
	form, err := c.options.Grant(ctx, Asked{Issuer: l.Issuer.Issuer, Resource: l.Resource, Scopes: scopes})
	if err != nil {
		return nil, err
	}
	form.Set("resource", l.Resource)
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	t, err := c.token(ctx, l, form, scopes)
	if err == nil && form.Get("grant_type") == grantExchange {
		subject := form.Get("subject_token")
		if subtle.ConstantTimeCompare([]byte(t.Access), []byte(subject)) == 1 {
			return nil, fmt.Errorf("the authorization server %s returned the user's own token, which junction does not pass on", l.Issuer.Issuer)
		}
		t.From = hashOf(subject)
	}
	return t, err
}

// identify adds the client's authentication to the form of a request, or to its headers, which it
// returns.
func (c *Client) identify(of *issuer, as *Registration, form url.Values) (http.Header, error) {
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	form.Set("client_id", as.ID) // also with basic: the Python SDK's server requires both
	switch as.method(of) {
	case methodKey:
		assertion, err := as.assertion(of, c.now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", typeAssertion)
		form.Set("client_assertion", assertion)
	case methodBasic:
		req := http.Request{Header: header}
		req.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret))
	case methodPost:
		form.Set("client_secret", as.Secret)
	}
	return header, nil
}
