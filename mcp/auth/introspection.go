package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/mcp/oauth"
)

const (
	// defaultFresh is for how long what an authorization server said of a token is believed.
	defaultFresh = time.Minute
	// maxAsked bounds how many tokens it is asked about at a time; further requests wait.
	maxAsked = 32
	// askTime bounds one such request, with the wait for its turn.
	askTime = 10 * time.Second
)

// IntrospectionOptions say whom to ask about tokens (RFC 7662).
type IntrospectionOptions struct {
	// Issuer is the authorization server; it stands for itself where its responses name none.
	Issuer string
	// URL is its introspection endpoint; default as its metadata says, which is read when the first token comes.
	URL string
	// ClientID and Secret are what this server is registered as there.
	ClientID, Secret string
	// Fresh is for how long a response is believed; default one minute. A token that is revoked is taken as long.
	Fresh time.Duration
	// HTTP asks; default [oauth.Guarded] without exceptions.
	HTTP *http.Client
}

// Introspection returns a Verifier that asks the authorization server about each token.
func Introspection(o IntrospectionOptions) Verifier {
	if o.HTTP == nil {
		o.HTTP = oauth.Guarded(nil)
	}
	o.Fresh = cmp.Or(o.Fresh, defaultFresh)
	return &introspection{options: o, now: time.Now, turns: make(chan struct{}, maxAsked)}
}

type introspection struct {
	options IntrospectionOptions
	now     func() time.Time
	turns   chan struct{}          // who can send on it asks
	found   atomic.Pointer[string] // the endpoint that the metadata names
}

// endpoint is where tokens are asked about.
func (i *introspection) endpoint(ctx context.Context) (string, error) {
	if i.options.URL != "" {
		return i.options.URL, nil
	}
	if at := i.found.Load(); at != nil {
		return *at, nil
	}
	at, err := published(ctx, i.options.HTTP, i.options.Issuer, "introspection_endpoint")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	i.found.Store(&at)
	return at, nil
}

// Verify implements [Verifier].
func (i *introspection) Verify(ctx context.Context, token, _ string) (*Token, error) {
	if by := namedIssuer(token); by != "" && by != i.options.Issuer {
		return nil, fmt.Errorf("%w: it names %.200q, not %s", ErrToken, by, i.options.Issuer) // who is asked could use it
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	select {
	case i.turns <- struct{}{}:
		defer func() { <-i.turns }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many are asked about: %w", ErrUnavailable, context.Cause(ctx))
	}
	at, err := i.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(i.options.ClientID), url.QueryEscape(i.options.Secret))
	var said struct {
		Active bool `json:"active"`
		claims
	}
	began := i.now()
	if err := do(i.options.HTTP, req, &said); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, i.options.Issuer, err)
	}
	switch {
	case !said.Active:
		return nil, fmt.Errorf("%w: %s says so", ErrInactive, i.options.Issuer)
	case said.Issuer != "" && said.Issuer != i.options.Issuer:
		return nil, fmt.Errorf("%w: %.200q gave it, not %s", ErrToken, said.Issuer, i.options.Issuer)
	case said.From != nil && said.From.Time().After(began.Add(skew)):
		return nil, fmt.Errorf("%w: it holds from %s only", ErrToken, said.From.Time().UTC().Format(time.RFC3339))
	}
	t := said.token()
	t.Issuer, t.Fresh = i.options.Issuer, began.Add(i.options.Fresh)
	return t, nil
}

// namedIssuer is who gave a token, as it says itself, where it is a JWT; nothing was checked. It is empty where the
// token does not say.
func namedIssuer(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var said struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(text, &said) != nil {
		return ""
	}
	return said.Issuer
}
