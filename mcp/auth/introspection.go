package auth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp/oauth"
)

const (
	// defaultFresh is for how long what an authorization server said of a token is believed.
	defaultFresh = time.Minute
	// maxAsked bounds how many tokens it is asked about at a time that are not known, and as many that are; further requests wait. A
	// quarter is for others than the address that has most.
	maxAsked = 32
	// heldTime is for how long a token is known that held: it waits for none that is not known.
	heldTime = time.Hour
	// refusedTime is for how long one is remembered that did not hold.
	refusedTime = 5 * time.Second
	// askTime bounds one such request, with the wait for its turn.
	askTime = 10 * time.Second
)

// IntrospectionOptions say whom to ask about tokens (RFC 7662).
type IntrospectionOptions struct {
	// Issuer is the authorization server; it stands for itself where its responses name none. Each response must
	// have the audience (aud), although RFC 7662 makes it optional: a token for another server would be taken otherwise.
	Issuer string
	// URL is its introspection endpoint; default as its metadata says, which is read when the first token comes.
	URL string
	// ClientID and Secret are what this server is registered as there.
	ClientID, Secret string
	// Fresh is for how long a response is believed; default one minute. A token that is revoked is taken as long.
	Fresh time.Duration
	// HTTP asks; default [oauth.Guarded] without exceptions, which refuses addresses of a private network, and
	// http without TLS.
	HTTP *http.Client
}

// Introspection returns a Verifier that asks the authorization server about each token.
func Introspection(o IntrospectionOptions) Verifier {
	if o.HTTP == nil {
		o.HTTP = oauth.Guarded(nil)
	}
	o.Fresh = cmp.Or(o.Fresh, defaultFresh)
	return &introspection{options: o, now: time.Now, turns: share.NewTurns(maxAsked), known: share.NewTurns(maxAsked),
		held: share.NewRecent[tokenHash](heldTime, maxCached), refused: share.NewRecent[tokenHash](refusedTime, maxCached)}
}

type introspection struct {
	options IntrospectionOptions
	now     func() time.Time
	turns   *share.Turns // to ask about a token that is not known, by the address that it comes from
	known   *share.Turns // to ask about one that held, by its hash
	held    *share.Recent[tokenHash]
	refused *share.Recent[tokenHash]
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
	if by := namedIssuer(token); by != "" && !oauthdoc.Same(by, i.options.Issuer) {
		return nil, fmt.Errorf("%w: it names %.200q, not %s", ErrToken, by, i.options.Issuer) // who is asked could use it
	}
	hash := hashOf(token)
	if i.refused.Has(hash, i.now()) {
		return nil, fmt.Errorf("%w: %s said so", ErrInactive, i.options.Issuer)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	turns, key := i.turns, share.Of(ctx)
	if i.held.Has(hash, i.now()) {
		turns, key = i.known, string(hash[:])
	}
	done, err := turns.Wait(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%w: too many are asked about: %w", ErrUnavailable, err)
	}
	defer done()
	if i.refused.Has(hash, i.now()) { // meanwhile
		return nil, fmt.Errorf("%w: %s said so", ErrInactive, i.options.Issuer)
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
		i.held.Forget(hash)
		i.refused.Add(hash, i.now())
		return nil, fmt.Errorf("%w: %s says so", ErrInactive, i.options.Issuer)
	case said.Issuer != "" && !oauthdoc.Same(said.Issuer, i.options.Issuer):
		return nil, fmt.Errorf("%w: %.200q gave it, not %s", ErrToken, said.Issuer, i.options.Issuer)
	case said.From != nil && said.From.Time().After(began.Add(skew)):
		return nil, fmt.Errorf("%w: it holds from %s only", ErrToken, said.From.Time().UTC().Format(time.RFC3339))
	}
	t := said.token()
	i.held.Add(hash, began)
	t.Issuer, t.Fresh = i.options.Issuer, began.Add(i.options.Fresh)
	return t, nil
}

// namedIssuer returns the issuer that a token names if it is a JWT, of which nothing was checked. It is empty where the
// token names none.
func namedIssuer(token string) string {
	var said struct {
		Issuer string `json:"iss"`
	}
	if jws.Unverified(token, &said) != nil {
		return ""
	}
	return said.Issuer
}
