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

// A Grant says on what grounds a client gets tokens without a user. It returns the parameters of the request for a
// token, at least grant_type; resource, scope and those that make the client known are added.
type Grant func(ctx context.Context, asked Asked) (url.Values, error)

// Asked is the token that a client wants.
type Asked struct {
	Issuer   string // of the authorization server
	Resource string // that the token is for
	Scopes   []string
}

const (
	grantAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange  = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// ClientCredentials is the grant of a client that acts for itself (RFC 6749 section 4.4), as
// [Options.Registered] says with a secret or a key.
func ClientCredentials() Grant {
	return func(context.Context, Asked) (url.Values, error) {
		return url.Values{"grant_type": {"client_credentials"}}, nil
	}
}

// Assertion is the grant of who has a signed statement from somebody whom the authorization server trusts (RFC 7523
// section 2.1): a workload of a cloud, which finds its own in a file, say. get returns the statement.
func Assertion(get func(ctx context.Context, asked Asked) (string, error)) Grant {
	return func(ctx context.Context, asked Asked) (url.Values, error) {
		statement, err := get(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("a statement for %s: %w", asked.Issuer, err)
		}
		return url.Values{"grant_type": {grantAssertion}, "assertion": {strings.TrimSpace(statement)}}, nil
	}
}

// TokenExchange is the grant of who acts for a user (RFC 8693), such as a gateway: the token with which the user came is
// exchanged for another, that is for the server asked and for nobody else. The user's own token goes to the authorization
// server only, and never to that server. get returns the user's token. As a [Store] keeps one login for each server, there
// is one [Client] for each user, with a Store of its own.
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

// An IdentityProvider is where an organization's users log in, and which says what they may use: its part in
// Enterprise-Managed Authorization (io.modelcontextprotocol/enterprise-managed-authorization).
type IdentityProvider struct {
	Issuer string       // its name
	Token  string       // its token endpoint; empty: as its metadata says
	Client Registration // what the client is there
	// Identity returns the user's ID token of this provider.
	Identity func(ctx context.Context) (string, error)
	// HTTP sends the requests to it; default [Guarded] without exceptions.
	HTTP *http.Client
}

// Enterprise is the grant of a user whose organization's identity provider says what they may use: their ID
// token is exchanged there (RFC 8693) for a statement to the authorization server.
func Enterprise(p IdentityProvider) Grant {
	c := &Client{http: p.HTTP, now: time.Now}
	if c.http == nil {
		c.http = Guarded(nil)
	}
	return Assertion(func(ctx context.Context, asked Asked) (string, error) {
		return c.exchange(ctx, p, asked)
	})
}

// Types of tokens (RFC 8693 section 3).
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

// errUnregistered says that who acts without a user has to be known to the authorization server.
var errUnregistered = errors.New("without a user a client has to be registered beforehand, and it is not")

// granted asks for a token without a user.
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
			return nil, fmt.Errorf("the authorization server %s gave the user's own token back, which is not passed on", l.Issuer.Issuer)
		}
		t.From = hashOf(subject)
	}
	return t, err
}

// identify makes a client known in a form, or in the headers with which it is sent.
func (c *Client) identify(of *issuer, as *Registration, form url.Values) (http.Header, error) {
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	form.Set("client_id", as.ID) // also with basic: the Python SDK's server wants both
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
