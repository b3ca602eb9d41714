package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/mcp"
)

// maxExchanged bounds for how many callers an Exchange keeps a token. For another one, the one that came least recently is
// forgotten.
const maxExchanged = 1_000

var (
	// ErrNoCaller says that nobody came with a token that could be exchanged.
	ErrNoCaller = errors.New("the caller did not come with an access token")
	// ErrCallerEnded says that the token with which a caller came holds no more.
	ErrCallerEnded = errors.New("the access token with which the caller came has expired or was revoked")

	// ErrIssuer says that the authorization server of a server does not get the tokens of callers.
	ErrIssuer = errors.New("it is not the authorization server that gets callers' tokens")

	errBetween = errors.New("the token that was got in exchange holds no more, and is replaced with the next request of the caller")
)

// ExchangeOptions say how an [Exchange] gets tokens.
type ExchangeOptions struct {
	// Client says how the client is known to the authorization server of the server: Registered at least. Its Store, Grant,
	// Visit and Renew are not used.
	Client Options
	// Issuer is the authorization server that gets callers' tokens. If it is empty, only that which gave a token gets it: the
	// server says who gives tokens for it, and could name its own.
	Issuer string
	// Audience, if not empty, is sent along with the server's resource, for an authorization server that calls it by a name.
	Audience string
	// Caller finds in the context of a request who makes it. It is required, and safe for concurrent use.
	Caller func(ctx context.Context) (Caller, bool)
	// Base sends the requests to the server; default http.DefaultTransport.
	Base http.RoundTripper
}

// An Exchange has tokens for one server, each got in exchange for the token of one caller (RFC 8693), as a gateway needs them
// that acts for its users: see [TokenExchange]. It keeps them in memory until they expire or the caller's token does, and
// renews them while a request of the caller runs, as their own tokens are in the contexts of requests only. It is safe for
// concurrent use.
type Exchange struct {
	server  *url.URL
	options ExchangeOptions
	now     func() time.Time

	mu   sync.Mutex
	all  map[mcp.Grantee]*Exchanged
	uses uint64
}

// NewExchange returns an Exchange for the server at a URL.
func NewExchange(server string, o ExchangeOptions) (*Exchange, error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	if o.Caller == nil {
		return nil, errors.New("authorization: Caller is missing: what finds the caller of a request")
	}
	o.Client.Store, o.Client.Visit, o.Client.Renew = nil, nil, nil
	return &Exchange{server: u, options: o, now: time.Now, all: map[mcp.Grantee]*Exchanged{}}, nil
}

// For is what the caller of a request has at the server, with a token that holds, where the server wants one: if need be, the
// caller's is exchanged, once for all requests that wait for it. The error is [ErrNoCaller] where there is no caller.
func (x *Exchange) For(ctx context.Context) (*Exchanged, error) {
	caller, found := x.options.Caller(ctx)
	if !found {
		return nil, ErrNoCaller
	}
	if !caller.Expires.IsZero() && !x.now().Before(caller.Expires) {
		return nil, ErrCallerEnded
	}
	e, err := x.of(&caller)
	if err != nil {
		return nil, err
	}
	if err := e.ready(ctx, hashOf(caller.Token.Reveal())); err != nil {
		return nil, fmt.Errorf("a token for %s in exchange for that of the caller: %w", canonical(x.server), err)
	}
	return e, nil
}

// of is what is kept for a caller, of whose tokens the one that holds longest counts.
func (x *Exchange) of(caller *Caller) (*Exchanged, error) {
	key, now := caller.grantee(), x.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.all[key]
	if e != nil && e.overAt(now) != nil {
		x.forget(e)
		e = nil
	}
	if e == nil {
		if len(x.all) >= maxExchanged {
			x.forget(slices.MinFunc(slices.Collect(maps.Values(x.all)), func(a, b *Exchanged) int { return cmp.Compare(a.used, b.used) }))
		}
		e = &Exchanged{exchange: x, grantee: key, flight: access{turn: make(chan struct{}, 1)}}
		o := x.options.Client
		o.Grant = e.grant
		e.client = New(o)
		e.client.now = x.now
		var err error
		if e.transport, err = e.client.Transport(x.server.String(), x.options.Base); err != nil {
			return nil, err
		}
		x.all[key] = e
	}
	x.uses++
	e.used = x.uses
	e.mu.Lock()
	defer e.mu.Unlock()
	if caller.Expires.IsZero() || caller.Expires.After(e.until) {
		e.until, e.hash = caller.Expires, hashOf(caller.Token.Reveal())
	}
	return e, nil
}

// forget ends what a caller has; the lock is held.
func (x *Exchange) forget(e *Exchanged) {
	e.ended.Store(true)
	delete(x.all, e.grantee)
}

// End ends what was got in exchange for a token that holds no more, such as one that was revoked.
func (x *Exchange) End(token Secret) {
	hash := hashOf(token.Reveal())
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.all {
		if e.isOf(hash) {
			x.forget(e)
		}
	}
}

// Exchanged is what one caller has at the server of an [Exchange]. As an [http.RoundTripper] it sends requests to it with the
// caller's token for it. After it has ended, it sends none.
type Exchanged struct {
	exchange  *Exchange
	grantee   mcp.Grantee
	client    *Client
	transport http.RoundTripper
	flight    access      // whose turn is had by who exchanges
	open      atomic.Bool // whether the server wants no token
	stale     atomic.Bool // whether the token was refused while no request of the caller ran
	ended     atomic.Bool
	used      uint64 // under the lock of exchange: the number of its last use

	mu    sync.Mutex
	until time.Time // when the caller's token expires; zero: not known
	hash  string    // of that token
	asked string    // hash of the token for which one was last asked
}

// isOf reports whether what the caller has goes back to a token: it was got for that one, is being got for it, or lasts as long.
func (e *Exchanged) isOf(hash string) bool {
	if l, _ := e.client.accessTo(e.exchange.server).current(); l != nil && l.Token.From == hash {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hash == hash || e.asked == hash
}

// overAt returns [ErrCallerEnded] where the caller's token has expired or was ended.
func (e *Exchanged) overAt(now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended.Load() || !e.until.IsZero() && !now.Before(e.until) {
		return ErrCallerEnded
	}
	return nil
}

// grant is the [Grant] of the caller. It is asked while their request runs, in its context; else it fails.
func (e *Exchanged) grant(ctx context.Context, asked Asked) (url.Values, error) {
	form, err := TokenExchange(func(ctx context.Context, asked Asked) (string, error) {
		caller, found := e.exchange.options.Caller(ctx)
		if !found || caller.grantee() != e.grantee {
			e.stale.Store(true)
			return "", errBetween
		}
		if trusted := cmp.Or(e.exchange.options.Issuer, caller.Issuer); !oauthdoc.Same(asked.Issuer, trusted) {
			return "", fmt.Errorf("%w: it is %s", ErrIssuer, trusted)
		}
		e.mu.Lock()
		e.asked = hashOf(caller.Token.Reveal())
		e.mu.Unlock()
		return caller.Token.Reveal(), nil
	})(ctx, asked)
	if err == nil && e.exchange.options.Audience != "" {
		form.Set("audience", e.exchange.options.Audience)
	}
	return form, err
}

// ready has the caller's token exchanged if there is none for the server that holds. Where it waits for an attempt that
// failed, and was made with another token or between requests, it makes its own.
func (e *Exchanged) ready(ctx context.Context, token string) error {
	if e.open.Load() {
		return nil
	}
	a := e.client.accessTo(e.exchange.server)
	if !e.stale.Load() {
		if l, err := e.client.fresh(ctx, a); l != nil && err == nil {
			return nil
		}
	}
	unlock, err := e.flight.lock(ctx, token)
	if err != nil {
		return err
	}
	defer unlock()
	if l, _ := a.current(); e.open.Load() || l != nil && !e.stale.Load() && (l.Token.Expires.IsZero() || e.exchange.now().Before(l.Token.Expires)) {
		return nil // somebody else got it meanwhile
	}
	_, err = e.client.Login(ctx, e.exchange.server.String(), e.exchange.options.Base)
	switch {
	case errors.Is(err, ErrNotWanted):
		e.open.Store(true)
		err = nil
	case err == nil:
		e.stale.Store(false)
	}
	if ctx.Err() == nil { // else it is this caller's error only
		e.flight.ended(token, err)
	}
	return err
}

// RoundTrip implements [http.RoundTripper].
func (e *Exchanged) RoundTrip(req *http.Request) (*http.Response, error) {
	err := e.overAt(e.exchange.now())
	if caller, found := e.exchange.options.Caller(req.Context()); found && caller.grantee() != e.grantee {
		err = errors.New("the request is of another caller than the token")
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("authorization at %s: %w", e.exchange.server.Host, err)
	}
	return e.transport.RoundTrip(req)
}

// CloseIdleConnections does nothing, as other callers use the same connections.
func (e *Exchanged) CloseIdleConnections() {}
