package up

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Exchanges holds the servers that get exchanged tokens of callers.
type Exchanges struct {
	some atomic.Bool // set by the first Add; until then no request keeps its token

	Mu  sync.Mutex
	All []*Exchanging // has a server several times while it is being replaced
}

// Add adds a server. It must be called before any token is exchanged for the server. It does
// nothing if x is nil.
func (s *Exchanges) Add(x *Exchanging) {
	if x == nil {
		return
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.All = append(s.All, x)
	s.some.Store(true)
}

// remove removes a server. Call it after the server's last use, because end must find the tokens
// that it got for a revoked token.
func (s *Exchanges) remove(x *Exchanging) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.All = slices.DeleteFunc(s.All, func(one *Exchanging) bool { return one == x })
}

// end ends the tokens that were obtained in exchange for a revoked token.
func (s *Exchanges) end(token oauth.Secret) {
	if s == nil || !s.some.Load() {
		return
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, x := range s.All {
		if made := x.Made.Load(); made != nil {
			made.End(token)
		}
	}
}

// carried is an endpoint that stores the token of a request in its context if any server needs it.
type carried struct {
	EndpointHandler
	carry http.Handler // the endpoint, wrapped to store tokens
	some  *atomic.Bool
}

// Settle waits until the endpoint is idle, if it can.
func (c carried) Settle(ctx context.Context) error {
	if s, is := c.EndpointHandler.(settler); is {
		return s.Settle(ctx)
	}
	return nil
}

// Usage returns what clients hold at the endpoint.
func (c carried) Usage() streamable.Usage {
	if e, is := c.EndpointHandler.(*streamable.Endpoint); is {
		return e.Usage()
	}
	return streamable.Usage{}
}

// ServeHTTP implements [http.Handler].
func (c carried) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.some.Load() {
		c.carry.ServeHTTP(w, r)
		return
	}
	c.EndpointHandler.ServeHTTP(w, r)
}

// exchange returns the token exchange for a server, or nil if the server's entry has none. The
// error names settings or flags that contradict the entry.
func (v *Served) exchange(e launch.Entry) (*Exchanging, error) {
	if e.Definition.Grant() != config.GrantExchange {
		return nil, nil
	}
	fault := func(text string, args ...any) (*Exchanging, error) {
		return nil, fmt.Errorf("server %q: oauth.grant token-exchange %s", e.Name, fmt.Sprintf(text, args...))
	}
	isolation := v.Gateway.Layers().Plan().Settings.Servers[e.Name].Isolation
	switch {
	case !launch.Of(e.Definition.Kind).IsWeb:
		return fault("needs a server with a url")
	case v.Options.Stdio:
		return fault("needs the tokens of users, which standard input does not have; serve over HTTP, with --auth URL")
	case !v.Options.takesTokens():
		return fault("needs the tokens of users; start junction up with --auth URL, the URL of their authorization server")
	case isolation != "" && isolation != "user":
		return fault(`needs a connection for each user, but junction.servers.%s.isolation is %q; make it "user", or remove it`, e.Name, isolation)
	}
	return &Exchanging{app: v.App, entry: e}, nil
}

// Exchanging gets tokens for one server in exchange for the tokens of callers. The gateway reads
// the server's definitions for all callers with a token of its own.
type Exchanging struct {
	app   *cli.App
	entry launch.Entry
	Made  atomic.Pointer[oauth.Exchange] // nil until the first caller
}

// exchange returns the token exchange. It creates the exchange from the entry for the first caller.
func (x *Exchanging) exchange(ctx context.Context) (*oauth.Exchange, error) {
	if made := x.Made.Load(); made != nil {
		return made, nil
	}
	s, err := x.entry.Definition.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	base, err := launch.NewTLSClient(s.TLS)
	if err != nil {
		return nil, s.Located(err)
	}
	o := oauth.ExchangeOptions{Audience: s.OAuth.Audience, Issuer: s.OAuth.Issuer, Caller: auth.TokenCallerOf, Base: base}
	if o.Client, err = x.app.Launch.TokenOptions(*s.OAuth, nil); err != nil {
		return nil, s.Located(err)
	}
	made, err := oauth.NewExchange(s.URL, o)
	if err != nil {
		return nil, err
	}
	x.Made.CompareAndSwap(nil, made)
	return x.Made.Load(), nil
}

// CallerOf returns the caller of a request with a token for the server.
func (x *Exchanging) CallerOf(ctx context.Context, req *mcp.Request) (any, error) {
	// Over HTTP+SSE the token is that of the request that opened the stream. A message with other
	// rights gets at most the rights of that token.
	caller, found := auth.TokenCallerOf(ctx)
	p := req.Principal
	switch {
	case !found || p == nil:
		return nil, fmt.Errorf("the server needs a token exchanged for the user's, and %w: log in at the gateway, and do not use a key", oauth.ErrNoCaller)
	case p.Subject != caller.Subject || p.Issuer != caller.Issuer || !slices.Equal(p.Scopes, caller.Scopes):
		return nil, errors.New("the request has another token than its stream; connect again, or use Streamable HTTP")
	}
	made, err := x.exchange(ctx)
	if err != nil {
		return nil, err
	}
	e, err := made.For(ctx)
	refused, isRefused := errors.AsType[*oauth.Error](err)
	switch {
	case errors.Is(err, oauth.ErrIssuer):
		err = fmt.Errorf("%w; if it may have the tokens, name it as oauth.issuer in the entry of %s", err, x.entry.Name)
	case errors.Is(err, oauth.ErrCallerEnded):
		err = fmt.Errorf("%w; log in again", err)
	case isRefused && refused.Code == "invalid_client":
		err = fmt.Errorf("%w; correct oauth.clientId and its secret in the entry of %s", err, x.entry.Name)
	case isRefused:
		err = fmt.Errorf("%w; the authorization server must let oauth.clientId of %s exchange this user's tokens (RFC 8693), and the tokens must be issued for that client, too", err, x.entry.Name)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// resolve returns the target of a connection, with the token of one caller or the gateway's own.
func (x *Exchanging) resolve(ctx context.Context, start *gateway.Start) (launch.Target, error) {
	return x.app.Launch.TargetWith(ctx, x.entry, func(s *config.Server, header http.Header) (*http.Client, error) {
		if header.Get("Authorization") != "" {
			return nil, fmt.Errorf("server %q has both a header Authorization and oauth.grant token-exchange; remove one", s.Name)
		}
		if caller, is := start.Whose().(*oauth.Exchanged); is {
			return &http.Client{Transport: caller}, nil
		}
		client, err := x.app.Launch.AuthorizedAs(s, header)
		if err == nil {
			client.Transport = asGateway{launch.Passing{RoundTripper: client.Transport}, s.Name}
		}
		return client, err
	})
}

// asGateway is a transport that adds advice to the error if the gateway itself gets no token.
type asGateway struct {
	launch.Passing
	server string
}

// RoundTrip implements [http.RoundTripper].
func (g asGateway) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(req)
	if _, refused := errors.AsType[*oauth.Error](err); refused {
		err = fmt.Errorf("the gateway needs its own token to list the server's offers: %w; the authorization server must also give one to oauth.clientId of %s (client_credentials)", err, g.server)
	}
	return response, err
}
