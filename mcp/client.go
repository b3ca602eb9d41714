package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// A Client asks a server. Its methods are sugar over Handle: list, call, read,
// get, complete, listen. It is a [Handler] too, so a server transport around a
// Client is a proxy. All methods are safe for concurrent use.
type Client struct {
	handler  Handler
	conn     Conn // nil where the Handler is in this process
	options  ClientOptions
	cache    *cache
	info     *Implementation
	discover DiscoverResult
	closing  context.CancelCauseFunc
	ctx      context.Context
	watching sync.WaitGroup
}

// ClientOptions are optional; the zero value of each field means its default.
// The callbacks say what the client can be asked for: what is nil is not
// declared to servers.
type ClientOptions struct {
	// Info is how the client introduces itself; default the name of Junction.
	Info Implementation
	// Name names the server in errors and logs; default the transport's own
	// description (its command or URL).
	Name string

	// OnElicit asks the user: req is a form or a URL to visit. For forms, members
	// left out of an accepted answer are filled with the form's defaults, and what
	// was entered is checked against the form. To the server an error is a form
	// that the user dismissed. One of OnSample or OnRoots fails the server's request
	// with its text. Each is in the Logger.
	OnElicit func(ctx context.Context, req ElicitRequest) (*ElicitResult, error)
	// ElicitURL declares that OnElicit can send the user to a web page.
	ElicitURL bool
	// OnSample asks a language model.
	OnSample func(ctx context.Context, req CreateMessageRequest) (*CreateMessageResult, error)
	// SampleTools declares that OnSample understands tools and tool choice.
	SampleTools bool
	// OnRoots lists what the server may work in.
	OnRoots func(ctx context.Context) ([]Root, error)

	// OnProgress hears of progress, unless [WatchProgress] gave a request a
	// callback of its own.
	OnProgress func(p ProgressUpdate)
	// OnLog hears the server's log messages of LogLevel and above.
	OnLog func(m LogMessage)
	// LogLevel is the least severe level wanted; default none, or info where
	// OnLog is set.
	LogLevel LogLevel

	// Bridge is for a Client that is the back of a proxy: it declares what can be
	// passed on to clients further down, and what the server asks goes to the Peer
	// of the request that it belongs to. Roots are not declared, as a server keeps
	// them for its session, which several clients share.
	Bridge bool
	// OneClient, with Bridge, says that all requests come from one client, and
	// what it declared: the server gets exactly that, and what it asks at any
	// time is asked of that client.
	OneClient *Meta
	// Capabilities are declared in addition to what the callbacks stand for: experimental
	// ones and extensions.
	Capabilities ClientCapabilities

	// Middleware sees every request that goes to the server after the connection
	// was made, and its result: those of the Client's own methods that no cache
	// answers, and those that [Client.Handle] passes on. The first sees a request
	// first. What the server asks on the way is part of the request it belongs to.
	Middleware []Middleware

	// Revision, if not empty, is the only revision spoken; default is to find out. A
	// client in the same process speaks none: requests fail with a [RevisionError]
	// unless it is a modern one.
	Revision string
	// LegacyFirst has a server that knows both eras spoken to in the legacy one: a
	// session, in which some servers can ask the client, and in modern requests cannot.
	// Over Streamable HTTP set it only for a server that is known to ask in a session:
	// one without sessions responds to a handshake, too, and cannot ask then.
	LegacyFirst bool
	// Timeout is how long a request may take without progress; it stands while the server
	// asks something. Log messages do not restart it. The default is 60 seconds, negative is
	// none. With Bridge, it holds for what [Client.Handle] passes on, too, if it is given.
	Timeout time.Duration
	// MaxTimeout is how long a request may take in any case; default 30 minutes.
	MaxTimeout time.Duration
	// ConnectTimeout is how long connecting may take in all; default 2 minutes.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long a server may take to answer the first, modern
	// request before it is taken for a legacy one; default 5 seconds, or half of
	// the time that connecting has left.
	ProbeTimeout time.Duration
	// Starting, if not nil, reports whether the server is still being installed or
	// started. ProbeTimeout begins again as long as it is: how long that takes says
	// nothing of the revision. It must be safe for concurrent use.
	Starting func() bool
	// ParkTimeout is how long a call of a bridge waits for its client to come back
	// with a response; default 10 minutes.
	ParkTimeout time.Duration
	// NoCache asks the server for every list, whatever it said of caching.
	NoCache bool
	// Wire, if not nil, sees the messages from and to the server.
	Wire Wire
	// Logger receives what a server does wrong, mostly at debug level; default
	// slog.Default(). Records about breaches of the specification have [LogBreach].
	Logger *slog.Logger

	self *Meta
}

const methodPing = "ping"

// LogBreach is the attribute that records of a client's and its transport's Logger have where
// a server does what the specification forbids, and the connection goes on. Its value says what
// the specification wants, and where.
const LogBreach = tolerance.LogBreach

const (
	defaultTimeout    = 60 * time.Second
	defaultMaxTimeout = 30 * time.Minute
)

// Dial connects to the server behind a transport, whichever revision it speaks
// and, on HTTP, whichever transport. The error names the server and says what
// was expected and what came. Close the client when done.
func Dial(ctx context.Context, t Transport) (*Client, error) {
	return DialWith(ctx, t, ClientOptions{})
}

// DialWith is [Dial] with options.
func DialWith(ctx context.Context, t Transport, o ClientOptions) (*Client, error) {
	c := newClient(o)
	c.options.Name = c.options.name(t)
	conn, err := t.Connect(ctx, c.connectOptions())
	if err != nil {
		c.closing(ErrClosed)
		return nil, err
	}
	c.conn, c.handler = conn, Chain(conn, c.options.Middleware...)
	discovered, err := conn.Handle(ctx, &Request{Method: methodDiscover, Meta: *c.options.self, Peer: NoPeer{}})
	if err == nil {
		err = c.introduce(discovered)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// NewClient returns a client of a Handler in the same process. Requests run in the
// goroutine that makes them, so that one that is cancelled, or that [Client.Close]
// ends, returns when the Handler does.
func NewClient(h Handler) *Client { return NewClientWith(h, ClientOptions{}) }

// NewClientWith is [NewClient] with options.
func NewClientWith(h Handler, o ClientOptions) *Client {
	c := newClient(o)
	if c.options.Name == "" {
		c.options.Name = "in-process"
	}
	within := &inProcess{next: h, client: c}
	if o.Revision != "" && !slices.Contains(revision.Modern(), o.Revision) {
		within.refused = &RevisionError{c.options.Name, o.Revision, errNoProtocol}
	}
	c.handler = Chain(within, c.options.Middleware...)
	if r, err := h.Handle(c.ctx, &Request{Method: methodDiscover, Meta: *c.options.self, Peer: NoPeer{}}); err == nil {
		_ = c.introduce(r) // what cannot be read is not known
	}
	return c
}

// connectOptions tell the transport what the connection is for.
func (c *Client) connectOptions() ConnectOptions {
	o := &c.options
	co := ConnectOptions{
		Name: o.Name, Meta: *o.self, OneClient: o.OneClient != nil, Revision: o.Revision, LegacyFirst: o.LegacyFirst,
		ConnectTimeout: o.ConnectTimeout, ProbeTimeout: o.ProbeTimeout, Starting: o.Starting, ParkTimeout: o.ParkTimeout, Wire: o.Wire, Logger: o.logger(),
	}
	if o.OneClient == nil && (o.OnElicit != nil || o.OnSample != nil || o.OnRoots != nil) {
		co.Peer = &clientPeer{client: c}
	}
	return co
}

func newClient(o ClientOptions) *Client {
	c := &Client{options: o}
	if c.options.OnLog != nil && c.options.LogLevel == "" {
		c.options.LogLevel = LogInfo
	}
	meta := c.options.introduction()
	c.options.self = &meta
	c.ctx, c.closing = context.WithCancelCause(context.Background())
	if !c.options.NoCache {
		c.cache = newCache()
	}
	return c
}

// introduce keeps what the server said of itself.
func (c *Client) introduce(r Result) error {
	body, err := r.Encoded()
	if err != nil {
		return err
	}
	if err := schema.DecodeLoose(body, &c.discover); err != nil {
		c.options.logger().Debug("mcp: what the server says of itself cannot be read", "server", c.options.Name, "error", err,
			LogBreach, "capabilities, instructions and server information have the types of schema.ts")
	}
	if raw := memberOrNil(r.Meta, revision.MetaServerInfo); raw != nil {
		info := new(Implementation)
		if schema.DecodeLoose(raw, info) == nil {
			c.info = info
		}
	}
	return nil
}

// Server describes the server; nil if it did not say. For display only.
func (c *Client) Server() *Implementation { return c.info }

// Capabilities are what the server offers.
func (c *Client) Capabilities() ServerCapabilities { return c.discover.Capabilities }

// Instructions are what the server wants a model to know; often empty.
func (c *Client) Instructions() string { return c.discover.Instructions }

// Revision is the protocol revision spoken with the server; empty in process.
func (c *Client) Revision() string {
	if c.conn == nil {
		return ""
	}
	return c.conn.Revision()
}

// HasOneRevision reports whether [ClientOptions.Revision] allows one revision only.
func (c *Client) HasOneRevision() bool { return c.options.Revision != "" }

// Name names the server in errors and logs.
func (c *Client) Name() string { return c.options.Name }

// Done is closed when the connection to the server is lost, and the Client of no
// use any more; nil in process.
func (c *Client) Done() <-chan struct{} {
	if c.conn == nil {
		return nil
	}
	return c.conn.Done()
}

// Err says why the connection is lost; nil while it is not.
func (c *Client) Err() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Err()
}

// Close ends the connection and everything that belongs to it: running
// requests, streams, the server's process. Each request that runs
// is cancelled at the server, and fails with an error that wraps [ErrClosed], as do
// those that are made later. A server that takes no message is not waited for
// longer than a moment.
func (c *Client) Close() error {
	c.closing(ErrClosed)
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	c.watching.Wait()
	return err
}

// Handle passes a request of somebody else on to the server.
func (c *Client) Handle(ctx context.Context, req *Request) (Result, error) {
	if !c.options.Bridge || c.options.Timeout <= 0 || req.Method == methodListen || req.Peer == nil {
		return c.handler.Handle(ctx, req)
	}
	passed := *req
	within, silent, stop := limited(ctx, &c.options)
	defer stop()
	passed.Peer = &limitedPeer{req.Peer, silent}
	result, err := c.handler.Handle(within, &passed)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = c.ended(within, req)
	}
	return result, err
}

// Ping asks whether the server is alive.
func (c *Client) Ping(ctx context.Context) error {
	method := methodPing
	if c.conn == nil {
		method = methodDiscover
	}
	_, err := c.do(ctx, &Request{Method: method})
	return err
}

// do makes a request for the client itself: with its capabilities, its
// callbacks and its timeouts.
func (c *Client) do(ctx context.Context, req *Request) (Result, error) {
	result, generation, ok := c.cache.get(req)
	if ok {
		return result, nil
	}
	result, err := c.send(ctx, req)
	if err != nil {
		return Result{}, err
	}
	c.cache.put(req, &result, generation)
	return result, nil
}

func (c *Client) send(ctx context.Context, req *Request) (Result, error) {
	peer := &clientPeer{client: c, progress: progressFrom(ctx)}
	req.Meta, req.Peer, req.Caller = *c.options.self, peer, c
	if peer.progress != nil || c.options.OnProgress != nil {
		req.Meta.ProgressToken = json.RawMessage("0")
	}
	if c.options.Timeout >= 0 {
		var stop func()
		ctx, peer.idle, stop = limited(ctx, &c.options)
		defer stop()
	}
	result, err := c.handler.Handle(ctx, req)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = c.ended(ctx, req)
	default:
		err = c.named(err)
	}
	return result, err
}

// named says that an error of the protocol is the server's: in process it does not
// know a name, and a tool that returns the error must not answer with it as its own.
func (c *Client) named(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Server != "" {
		return err
	}
	named := *e
	named.Server = c.options.Name
	if err == error(e) {
		return &named
	}
	return &namedError{err, &named}
}

// A namedError is an error that wraps an [Error] which has the name of its server.
type namedError struct {
	error
	named *Error
}

func (e *namedError) Unwrap() error { return e.error }

// As finds the named one.
func (e *namedError) As(target any) bool {
	to, ok := target.(**Error)
	if ok {
		*to = e.named
	}
	return ok
}

// ended is the error of a request whose context is done: it says which, and why.
func (c *Client) ended(ctx context.Context, req *Request) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("server %q: %s: %w", c.options.Name, describe(req), cause)
	}
	return fmt.Errorf("server %q: %s: %w: %w", c.options.Name, describe(req), ctx.Err(), cause)
}

func describe(req *Request) string {
	if req.Name == "" {
		return req.Method
	}
	return fmt.Sprintf("%s %q", req.Method, req.Name)
}

func (o *ClientOptions) logger() *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return slog.Default()
}

func (o *ClientOptions) name(t Transport) string {
	if o.Name != "" {
		return o.Name
	}
	return t.String()
}

// introduction says what the client is and what it can be asked for. Of the
// clients of a bridge that serves many, none can be distinguished when the server
// asks for roots: it may ask at any time, and keeps what it got.
func (o *ClientOptions) introduction() Meta {
	if o.OneClient != nil {
		m := *o.OneClient
		return Meta{Client: m.Client, Capabilities: m.Capabilities, LogLevel: o.LogLevel}
	}
	info := o.Info
	if info.Name == "" {
		info = Implementation{Name: "junction", Version: "0.1.0"}
	}
	capabilities := o.Capabilities
	if o.OnElicit != nil || o.Bridge {
		capabilities.Elicitation = &ElicitationCapability{Form: &struct{}{}}
		if o.ElicitURL || o.Bridge {
			capabilities.Elicitation.URL = &struct{}{}
		}
	}
	if o.OnSample != nil || o.Bridge {
		capabilities.Sampling = &SamplingCapability{}
		if o.SampleTools || o.Bridge {
			capabilities.Sampling.Tools = &struct{}{}
		}
	}
	if o.OnRoots != nil {
		capabilities.Roots = &RootsCapability{}
	}
	return Meta{Client: &info, Capabilities: &capabilities, LogLevel: o.LogLevel}
}
