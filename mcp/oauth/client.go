package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/state"
)

const (
	// ahead is how long before it expires a token is refreshed; for one that lasts less than ten times as long, a
	// tenth of its time.
	ahead = 30 * time.Second
	// maxSteps bounds how often one request asks for more rights.
	maxSteps = 3
	// answerTime bounds one request to an authorization server.
	answerTime = 30 * time.Second
	// maxText bounds what is repeated of an authorization server's words, in characters.
	maxText = 300
)

// ErrLogin says that the user has to log in, and that nobody can be sent to do so.
var ErrLogin = errors.New("a login is needed")

// A RightsError is [ErrLogin] for a user who is logged in, and needs more rights.
type RightsError struct {
	Scopes []string // that are needed, as far as the server says
}

// Error names the scopes.
func (e *RightsError) Error() string {
	return fmt.Sprintf("more rights are needed (%s)", plain(strings.Join(e.Scopes, " ")))
}

// Unwrap is [ErrLogin].
func (e *RightsError) Unwrap() error { return ErrLogin }

// Options say how a Client makes itself known, and who logs in.
type Options struct {
	// Name is what users read when they are asked for their consent; default "MCP client".
	Name string
	// Visit begins a trip of the user to a page and back to redirect, or to another place where redirect is empty or
	// cannot be used again. nil: nobody can log in, and what needs it fails with ErrLogin.
	Visit func(ctx context.Context, redirect string) (*Visit, error)
	// Grant, if not nil, is how tokens are got without a user; see [ClientCredentials], [Assertion],
	// [TokenExchange] and [Enterprise].
	Grant Grant
	// Renew, if not nil, has another process call [Client.Renew] for a server, with the same Store, and waits for it: a
	// process that is killed while it renews a login loses it where refresh tokens hold once. Where it fails, the
	// client renews the login itself.
	// mark says which token is to be replaced, and does not tell it.
	Renew func(ctx context.Context, server, mark string) error
	// Registered, if not nil, is what the client was registered as with an authorization server beforehand.
	Registered func(issuer string) (r Registration, ok bool)
	// Document is the URL of a metadata document by which authorization servers that read such documents know
	// the client.
	Document string
	// Redirect, if not empty, is where that document says that users come back to; default where Visit has them come.
	Redirect string
	// Scopes, if not empty, are asked for in addition to those that a server names.
	Scopes []string
	// Store keeps what was got; default in memory, as long as the Client.
	Store *Store
	// HTTP sends the requests to authorization servers; default [Guarded] without exceptions.
	HTTP *http.Client
	// Logger receives what goes wrong and fails nothing, such as a token that cannot be stored; default
	// slog.Default().
	Logger *slog.Logger
}

// A Client gets tokens and keeps them. Its methods are safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
	store   *Store
	now     func() time.Time

	mu     sync.Mutex
	access map[string]*access // by server
}

// New returns a Client that has the tokens of its store.
func New(o Options) *Client {
	o.Name = cmp.Or(o.Name, "MCP client")
	if o.HTTP == nil {
		o.HTTP = Guarded(nil)
	}
	if o.Store == nil {
		o.Store = OpenStore(func(context.Context) (state.Store, []byte, error) { return state.NewMemory(0), nil, nil })
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Client{options: o, http: o.HTTP, store: o.Store, now: time.Now, access: map[string]*access{}}
}

// accessTo is what the client has at a server.
func (c *Client) accessTo(server *url.URL) *access {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := canonical(server)
	a := c.access[key]
	if a == nil {
		a = &access{server: server, turn: make(chan struct{}, 1)}
		c.access[key] = a
	}
	return a
}

// plain is what somebody else said, on one short line.
func plain(text string) string { return plaintext.Line(text, maxText) }
