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

// A Client sends requests to a server. Its methods list, call, read, get, complete and listen are
// built on Handle. It is also a [Handler], so a server transport around a Client is a proxy. All
// methods are safe for concurrent use.
type Client struct {
	handler  Handler
	conn     Conn // nil if the Handler is in this process
	options  ClientOptions
	cache    *cache
	info     *Implementation
	discover DiscoverResult
	closing  context.CancelCauseFunc
	ctx      context.Context
	watching sync.WaitGroup
}

// ClientOptions are optional; the zero value of each field means its default. The callbacks decide
// which capabilities are declared to servers: a nil callback is not declared.
type ClientOptions struct {
	// Info describes the client to servers; the default is the name of Junction.
	Info Implementation
	// Name names the server in errors and logs. The default is the transport's own description: its
	// command or URL.
	Name string

	// OnElicit asks the user; req is a form or a URL to visit. In the accepted content of a form,
	// missing members get the form's defaults, and entered values are checked against the form. If
	// OnElicit fails, the server receives a form that the user dismissed. If OnSample or OnRoots
	// fails, the server's request fails with the error's text. All these errors are logged to
	// Logger.
	OnElicit func(ctx context.Context, req ElicitRequest) (*ElicitResult, error)
	// ElicitURL declares that OnElicit can send the user to a web page.
	ElicitURL bool
	// OnSample sends a request to a language model.
	OnSample func(ctx context.Context, req CreateMessageRequest) (*CreateMessageResult, error)
	// SampleTools declares that OnSample supports tools and tool choice.
	SampleTools bool
	// OnRoots returns the roots that the server may work in.
	OnRoots func(ctx context.Context) ([]Root, error)

	// OnProgress receives progress, unless [WatchProgress] gave the request a callback of its own.
	OnProgress func(p ProgressUpdate)
	// OnLog receives the server's log messages of LogLevel and above.
	OnLog func(m LogMessage)
	// LogLevel is the least severe level to receive. The default is none, or info if OnLog is set.
	LogLevel LogLevel

	// Bridge is for a Client behind a proxy. The Client declares all that clients further down may
	// support, and passes a server's request to the Peer of the request that it belongs to. Roots
	// are not declared: a server keeps them for its session, which several clients share.
	Bridge bool
	// OneClient, with Bridge, holds the declarations of the one client that all requests come from.
	// The server receives exactly these. Requests that the server sends at any time go to that
	// client.
	OneClient *Meta
	// Capabilities are declared in addition to those of the callbacks: experimental ones and
	// extensions.
	Capabilities ClientCapabilities

	// Middleware wraps every request that goes to the server after the connection was made, and its
	// result. This includes the Client's own requests that no cache serves, and requests passed on
	// by [Client.Handle]. The first element sees a request first. Requests from the server are part
	// of the request that they belong to.
	Middleware []Middleware

	// Revision, if not empty, is the only revision to speak; by default the Client finds one. A
	// client in the same process speaks no revision: its requests fail with a [RevisionError]
	// unless Revision is a modern one.
	Revision string
	// LegacyFirst selects the legacy era for a server that supports both. Some servers can send
	// requests to the client in a session, but not during modern requests. Over Streamable HTTP,
	// set it only for a server that is known to do so in a session: a server without sessions
	// responds to a handshake too, and cannot send requests then.
	LegacyFirst bool
	// Timeout is how long a request may take without progress. It is paused while the server waits
	// for the client; log messages do not restart it. The default is 60 seconds; a negative value
	// means no limit. With Bridge a positive value also applies to requests passed on by
	// [Client.Handle].
	Timeout time.Duration
	// MaxTimeout is how long a request may take in total; the default is 30 minutes.
	MaxTimeout time.Duration
	// ConnectTimeout is how long connecting may take in total; the default is 2 minutes.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long a server may take to respond to the first, modern request before it
	// is treated as a legacy server. The default is 5 seconds, or half of the remaining connect
	// time if that is less.
	ProbeTimeout time.Duration
	// Starting, if not nil, reports whether the server is still being installed or started. As long
	// as it is, ProbeTimeout begins again: the duration of a start does not depend on the revision.
	// Starting must be safe for concurrent use.
	Starting func() bool
	// ParkTimeout is how long a call of a bridge waits for its client to return with a response;
	// the default is 10 minutes.
	ParkTimeout time.Duration
	// NoCache requests every list from the server, even those that the server declared cacheable.
	NoCache bool
	// Wire, if not nil, receives the messages from and to the server.
	Wire Wire
	// Logger receives the server's faults, mostly at debug level; the default is slog.Default().
	// Records about violations of the specification have the attribute [LogBreach].
	Logger *slog.Logger

	self *Meta
}

const methodPing = "ping"

// LogBreach is the attribute of log records of a client or its transport about a violation of the
// specification that does not end the connection. Its value states the rule of the specification,
// and where it is.
const LogBreach = tolerance.LogBreach

const (
	defaultTimeout    = 60 * time.Second
	defaultMaxTimeout = 30 * time.Minute
)

// Dial connects to the server behind a transport, in whichever revision it speaks and, over HTTP,
// whichever transport. The error names the server, the expected message and the received one. Close
// the client when done.
func Dial(ctx context.Context, t Transport) (*Client, error) {
	return DialWith(ctx, t, ClientOptions{})
}

// DialWith is like [Dial], with options.
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

// NewClient returns a client of a Handler in the same process. Requests run in the goroutine of
// their caller. A request that is cancelled, or ended by [Client.Close], therefore returns when the
// Handler returns.
func NewClient(h Handler) *Client { return NewClientWith(h, ClientOptions{}) }

// NewClientWith is like [NewClient], with options.
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
		_ = c.introduce(r) // an unreadable description counts as unknown
	}
	return c
}

// connectOptions returns the options with which the transport makes the connection.
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

// introduce stores the server's own description.
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

// Server returns the server's own description, or nil if it sent none. It is for display only.
func (c *Client) Server() *Implementation { return c.info }

// Capabilities returns the capabilities of the server.
func (c *Client) Capabilities() ServerCapabilities { return c.discover.Capabilities }

// Instructions returns the server's instructions for a model; they are often empty.
func (c *Client) Instructions() string { return c.discover.Instructions }

// Revision returns the protocol revision spoken with the server. It is empty in process.
func (c *Client) Revision() string {
	if c.conn == nil {
		return ""
	}
	return c.conn.Revision()
}

// HasOneRevision reports whether [ClientOptions.Revision] allows one revision only.
func (c *Client) HasOneRevision() bool { return c.options.Revision != "" }

// Name returns the name of the server in errors and logs.
func (c *Client) Name() string { return c.options.Name }

// Done returns a channel that is closed when the connection to the server is lost and the Client
// can no longer be used. The channel is nil in process.
func (c *Client) Done() <-chan struct{} {
	if c.conn == nil {
		return nil
	}
	return c.conn.Done()
}

// Err returns the reason why the connection is lost, or nil while it is open.
func (c *Client) Err() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Err()
}

// Close ends the connection and everything that belongs to it: running requests, streams and the
// server's process. Running requests are cancelled at the server. They and all later requests fail
// with an error that wraps [ErrClosed]. Close waits only a moment for a server that takes no
// messages.
func (c *Client) Close() error {
	c.closing(ErrClosed)
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	c.watching.Wait()
	return err
}

// Handle passes a request of another client on to the server.
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

// Ping checks whether the server responds.
func (c *Client) Ping(ctx context.Context) error {
	method := methodPing
	if c.conn == nil {
		method = methodDiscover
	}
	_, err := c.do(ctx, &Request{Method: method})
	return err
}

// do sends a request of the client itself, with its capabilities, callbacks and timeouts.
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

// named returns a protocol error with the name of the server added. In process the server does not
// know that name, and a tool that returns the error must not pass it on as its own.
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

// A namedError wraps an [Error] and replaces it in the chain with a copy that names the server.
type namedError struct {
	error
	named *Error
}

func (e *namedError) Unwrap() error { return e.error }

// As sets target to the copy with the server's name.
func (e *namedError) As(target any) bool {
	to, ok := target.(**Error)
	if ok {
		*to = e.named
	}
	return ok
}

// ended returns the error of a request whose context is done. It names the request and the cause.
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

// introduction returns the client's description and capabilities. A bridge that serves many clients
// declares no roots: the server may request them at any time and keeps the result, so it cannot
// distinguish the clients.
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
