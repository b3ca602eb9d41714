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

// maxExchanged is the maximum number of callers whose tokens an Exchange stores. A further caller
// displaces the least recently used one.
const maxExchanged = 1_000

var (
	// ErrNoCaller reports that a request has no caller with a token to exchange.
	ErrNoCaller = errors.New("the caller did not send an access token")
	// ErrCallerEnded reports that the caller's token is no longer valid.
	ErrCallerEnded = errors.New("the caller's access token has expired or was revoked")

	// ErrIssuer reports that the authorization server of a server must not get the tokens of
	// callers.
	ErrIssuer = errors.New("callers' tokens may not be sent to this authorization server")

	errBetween = errors.New("the exchanged token is no longer valid, and is replaced at the caller's next request")
)

// ExchangeOptions holds the settings of an [Exchange].
type ExchangeOptions struct {
	// Client describes the client to the server's authorization server. Its field Registered is
	// required. Its Store, Grant, Visit and Renew are ignored.
	Client Options
	// Issuer is the authorization server that may get callers' tokens. If it is empty, a token is
	// sent only to the server that issued it. The restriction is needed because a server names its
	// own authorization server, and a malicious one could name an attacker's.
	Issuer string
	// Audience, if not empty, is sent in addition to the server's resource. Some authorization
	// servers have their own name for the resource.
	Audience string
	// Caller returns the caller of a request from the request's context. It is required. It must be
	// safe for concurrent use.
	Caller func(ctx context.Context) (Caller, bool)
	// Base sends the requests to the server; the default is http.DefaultTransport.
	Base http.RoundTripper
}

// An Exchange obtains and stores tokens for one server. Each token was obtained in exchange for the
// token of one caller (RFC 8693), for a gateway that acts for its users; see [TokenExchange].
// Tokens are stored in memory until they or the caller's token expire. A token is renewed only
// while a request of the caller runs, as only the context of a request contains the caller's token.
// An Exchange is safe for concurrent use.
type Exchange struct {
	server  *url.URL
	options ExchangeOptions
	now     func() time.Time

	mu   sync.Mutex
	all  map[mcp.PrincipalKey]*Exchanged
	uses uint64
}

// NewExchange returns an Exchange for the server at a URL.
func NewExchange(server string, o ExchangeOptions) (*Exchange, error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	if o.Caller == nil {
		return nil, errors.New("authorization: Caller is missing: set the function that finds the caller of a request")
	}
	o.Client.Store, o.Client.Visit, o.Client.Renew = nil, nil, nil
	return &Exchange{server: u, options: o, now: time.Now, all: map[mcp.PrincipalKey]*Exchanged{}}, nil
}

// For returns the holder of the token for the request's caller. If the server requires a token and
// none is valid, For exchanges the caller's token, once for all waiting requests. The error is
// [ErrNoCaller] if the request has no caller.
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
		return nil, fmt.Errorf("the exchange of the caller's token for one for %s: %w", canonical(x.server), err)
	}
	return e, nil
}

// of returns the Exchanged of a caller. If the caller has several tokens, the one that expires last
// is used.
func (x *Exchange) of(caller *Caller) (*Exchanged, error) {
	key, now := caller.key(), x.now()
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
		e = &Exchanged{exchange: x, key: key, flight: access{turn: make(chan struct{}, 1)}}
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

// forget ends e and removes it. The caller holds x.mu.
func (x *Exchange) forget(e *Exchanged) {
	e.ended.Store(true)
	delete(x.all, e.key)
}

// End ends the tokens that were obtained in exchange for a token that is no longer valid, for
// example because it was revoked.
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

// An Exchanged holds the token of one caller for the server of an [Exchange]. It is an
// [http.RoundTripper] that sends requests to the server with that token. After it has ended, it
// sends no requests.
type Exchanged struct {
	exchange  *Exchange
	key       mcp.PrincipalKey
	client    *Client
	transport http.RoundTripper
	flight    access      // the request that exchanges holds its turn
	open      atomic.Bool // set if the server requires no token
	stale     atomic.Bool // set if the token was refused while no request of the caller ran
	ended     atomic.Bool
	used      uint64 // number of the last use; guarded by the mu of exchange

	mu    sync.Mutex
	until time.Time // expiry of the caller's token; zero if unknown
	hash  string    // hash of that token
	asked string    // hash of the token that was last sent for exchange
}

// isOf reports whether the exchanged token derives from the token with this hash. It may have been
// obtained or be just being obtained for that token, or expire with it.
func (e *Exchanged) isOf(hash string) bool {
	if l, _ := e.client.accessTo(e.exchange.server).current(); l != nil && l.Token.From == hash {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hash == hash || e.asked == hash
}

// overAt returns [ErrCallerEnded] if the caller's token has expired or was ended at the time now.
func (e *Exchanged) overAt(now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended.Load() || !e.until.IsZero() && !now.Before(e.until) {
		return ErrCallerEnded
	}
	return nil
}

// grant is the [Grant] of the caller. It needs the context of a request of the caller, and
// otherwise fails.
func (e *Exchanged) grant(ctx context.Context, asked Asked) (url.Values, error) {
	form, err := TokenExchange(func(ctx context.Context, asked Asked) (string, error) {
		caller, found := e.exchange.options.Caller(ctx)
		if !found || caller.key() != e.key {
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

// ready exchanges the caller's token if there is no valid token for the server. It waits for an
// attempt that is running. If that attempt fails and had another token, or was made between
// requests, ready makes an attempt of its own.
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
		return nil // another request exchanged the token in the meantime
	}
	_, err = e.client.Login(ctx, e.exchange.server.String(), e.exchange.options.Base)
	switch {
	case errors.Is(err, ErrNotWanted):
		e.open.Store(true)
		err = nil
	case err == nil:
		e.stale.Store(false)
	}
	if ctx.Err() == nil { // otherwise only this caller gets the error
		e.flight.ended(token, err)
	}
	return err
}

// RoundTrip implements [http.RoundTripper].
func (e *Exchanged) RoundTrip(req *http.Request) (*http.Response, error) {
	err := e.overAt(e.exchange.now())
	if caller, found := e.exchange.options.Caller(req.Context()); found && caller.key() != e.key {
		err = errors.New("the request and the token belong to different callers")
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
