package auth

import (
	"cmp"
	"context"
	"encoding/json"
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
	// defaultFresh is how long a response about a token is valid.
	defaultFresh = time.Minute
	// maxAsked is the maximum number of concurrent requests about unknown tokens, and of those
	// about known tokens. Further requests wait. A quarter is reserved for addresses other than the
	// one with the most requests.
	maxAsked = 32
	// heldTime is how long a valid token counts as known. Requests about known tokens do not wait
	// for requests about unknown ones.
	heldTime = time.Hour
	// refusedTime is how long a refused token is remembered.
	refusedTime = 5 * time.Second
	// askTime is the timeout of one request, including the wait for its turn.
	askTime = 10 * time.Second
)

// IntrospectionOptions configure [Introspection] (RFC 7662).
type IntrospectionOptions struct {
	// Issuer is the authorization server. It is also the issuer of tokens whose response names
	// none. Each response must contain an audience (aud), although RFC 7662 makes it optional.
	// Otherwise a token for another server would be accepted.
	Issuer string
	// URL is the introspection endpoint. The default is the endpoint in the metadata of Issuer,
	// which is read when the first token arrives.
	URL string
	// ClientID and Secret are the credentials of this server for the endpoint.
	ClientID, Secret string
	// Groups is the claim of the user's groups: its name, or a path such as /realm_access/roles. The
	// default is groups.
	Groups string
	// Fresh is how long a response is used; the default is one minute. A revoked token may be
	// accepted for that time.
	Fresh time.Duration
	// HTTP sends the requests. The default is a client from [oauth.Guarded] without exceptions,
	// which refuses addresses of private networks and http without TLS.
	HTTP *http.Client
}

// Introspection returns a Verifier that asks the authorization server about each token (RFC 7662).
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
	turns   *share.Turns // turns for unknown tokens, by the client's address
	known   *share.Turns // turns for known tokens, by hash
	held    *share.Recent[tokenHash]
	refused *share.Recent[tokenHash]
	found   atomic.Pointer[string] // endpoint from the metadata
}

// endpoint returns the introspection endpoint.
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
		return nil, fmt.Errorf("%w: it names %.200q, not %s", ErrToken, by, i.options.Issuer) // otherwise this authorization server could use the token of another one
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
	if i.refused.Has(hash, i.now()) { // refused in the meantime
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
	var payload json.RawMessage
	err = do(i.options.HTTP, req, &payload)
	if err == nil {
		err = json.Unmarshal(payload, &said)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, i.options.Issuer, err)
	}
	switch {
	case !said.Active:
		i.held.Forget(hash)
		i.refused.Add(hash, i.now())
		return nil, fmt.Errorf("%w: %s says so", ErrInactive, i.options.Issuer)
	case said.Issuer != "" && !oauthdoc.Same(said.Issuer, i.options.Issuer):
		return nil, fmt.Errorf("%w: it was issued by %.200q, not by %s", ErrToken, said.Issuer, i.options.Issuer)
	case said.From != nil && said.From.Time().After(began.Add(skew)):
		return nil, fmt.Errorf("%w: it holds from %s only", ErrToken, said.From.Time().UTC().Format(time.RFC3339))
	}
	t := said.token()
	i.held.Add(hash, began)
	t.Issuer, t.Fresh, t.Groups = i.options.Issuer, began.Add(i.options.Fresh), groupsIn(payload, i.options.Groups)
	return t, nil
}

// namedIssuer returns the unverified issuer of a token, or "" if the token is not a JWT or names
// none.
func namedIssuer(token string) string {
	var said struct {
		Issuer string `json:"iss"`
	}
	if jws.Unverified(token, &said) != nil {
		return ""
	}
	return said.Issuer
}
