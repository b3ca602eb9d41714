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
	// ahead is how long before its expiry a token is refreshed. For a token with a lifetime of less
	// than ten times ahead, it is a tenth of the lifetime.
	ahead = 30 * time.Second
	// maxSteps is how often more scopes may be requested for one request.
	maxSteps = 3
	// answerTime is the timeout of one request to an authorization server.
	answerTime = 30 * time.Second
	// maxText is the maximum number of characters of a text from an authorization server in an
	// error.
	maxText = 300
)

// ErrLogin reports that the user must log in, and that the client cannot send them to a login page.
var ErrLogin = errors.New("a login is needed")

// A RightsError is an [ErrLogin] for a user who is logged in but needs more scopes.
type RightsError struct {
	Scopes []string // required scopes, as far as the server names them
}

// Error returns a text with the scopes.
func (e *RightsError) Error() string {
	return fmt.Sprintf("more rights are needed (%s)", plain(strings.Join(e.Scopes, " ")))
}

// Unwrap returns [ErrLogin].
func (e *RightsError) Unwrap() error { return ErrLogin }

// Options holds the settings of a Client.
type Options struct {
	// Name is the client's name on consent pages; the default is "MCP client".
	Name string
	// Visit starts a visit of the user to a login page. The user comes back to redirect, or to
	// another address if redirect is empty or cannot be used again. If Visit is nil, users cannot
	// log in, and requests that need a login fail with ErrLogin.
	Visit func(ctx context.Context, redirect string) (*Visit, error)
	// Grant, if not nil, obtains tokens without a user; see [ClientCredentials], [Assertion],
	// [TokenExchange] and [Enterprise].
	Grant Grant
	// Renew, if not nil, makes another process with the same Store call [Client.Renew] for a
	// server, and waits for that process. Otherwise a process that is killed while it renews a
	// login could lose the login, if refresh tokens can be used only once. If Renew fails, the
	// client renews the login itself. The parameter mark identifies the token to replace without
	// revealing it.
	Renew func(ctx context.Context, server, mark string) error
	// Registered, if not nil, returns the client's registration with an authorization server, if
	// one was made beforehand.
	Registered func(issuer string) (r Registration, ok bool)
	// Document is the URL of the client's metadata document, for authorization servers that support
	// such documents.
	Document string
	// Redirect, if not empty, is the redirect URI in that document. The default is the URI of
	// Visit.
	Redirect string
	// Scopes, if not empty, lists scopes to request in addition to those that a server names.
	Scopes []string
	// Store stores logins. The default stores them in memory, as long as the Client exists.
	Store *Store
	// HTTP sends the requests to authorization servers. The default is a client from [Guarded]
	// without exceptions.
	HTTP *http.Client
	// Logger gets errors that do not fail a request, such as a token that cannot be stored. The
	// default is slog.Default().
	Logger *slog.Logger
}

// A Client obtains tokens and stores them. Its methods are safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
	store   *Store
	now     func() time.Time

	mu     sync.Mutex
	access map[string]*access // by server
}

// New returns a Client that uses the tokens in its store.
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

// accessTo returns the client's access to a server.
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

// plain returns a text from another party as one short line.
func plain(text string) string { return plaintext.Line(text, maxText) }
