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

// A Client sends requests to a server. Its methods for listing, calling, reading and so on use
// Handle. A Client is also a [Handler], so a server transport around a Client is a proxy. All
// methods are safe for concurrent use.
type Client struct {
	handler  Handler
	conn     Conn // nil if the Handler is in this process
	options  ClientOptions
	cache    *cache
	codecs   *schema.Codecs
	info     *Implementation
	discover DiscoverResult
	closing  context.CancelCauseFunc
	ctx      context.Context
	watching sync.WaitGroup
}

// ClientOptions holds the settings of a Client. The zero value of each field is its default. The
// Client declares the capabilities of the callbacks that are not nil.
type ClientOptions struct {
	// Info describes the client to servers; the default is the name of Junction.
	Info Implementation
	// Name is the name of the server in errors and logs. The default is the command or the URL in
	// the transport.
	Name string

	// OnElicit asks the user to fill in a form or to visit a URL. In the accepted content of a
	// form, missing members get the form's defaults, and other members are checked against the
	// form. If OnElicit fails or its result is malformed, the server receives the result of a
	// dismissed form. If OnSample or OnRoots fails, the server receives an error with the same
	// text. Logger gets all these errors, a malformed result at level error.
	OnElicit func(ctx context.Context, req ElicitRequest) (*ElicitResult, error)
	// ElicitURL declares that OnElicit can send the user to a web page.
	ElicitURL bool
	// OnElicitComplete is called when a legacy server reports that the user is done with the web
	// page of the elicitation with this id. Unknown ids must be ignored.
	OnElicitComplete func(ctx context.Context, id string)
	// OnSample sends a request to a language model.
	OnSample func(ctx context.Context, req CreateMessageRequest) (*CreateMessageResult, error)
	// SampleTools declares that OnSample supports tools and tool choice.
	SampleTools bool
	// OnRoots returns the roots that the server may work in.
	OnRoots func(ctx context.Context) ([]Root, error)

	// OnProgress receives the progress of requests, except of those for which [WatchProgress] set
	// another function.
	OnProgress func(p ProgressUpdate)
	// OnLog receives the server's log messages of LogLevel and above.
	OnLog func(m LogMessage)
	// LogLevel is the least severe level of log messages to receive. The default is info if OnLog
	// is set, and otherwise none.
	LogLevel LogLevel

	// Bridge is set for a Client behind a proxy. The Client then declares all capabilities that the
	// proxy's clients may support. It passes each request of the server to the Peer of the request
	// that it belongs to. It does not declare roots, as a server stores them for its session, which
	// several clients share.
	Bridge bool
	// OneClient, with Bridge, holds the metadata of the only client that requests come from. The
	// server receives exactly the capabilities in it. Requests that the server sends outside of
	// calls also go to that client.
	OneClient *Meta
	// Capabilities lists capabilities to declare in addition to the capabilities that the callbacks
	// imply. It may contain experimental capabilities and extensions.
	Capabilities ClientCapabilities

	// Middleware wraps every request to the server after the connection was made. This includes the
	// Client's own requests, except those that the cache serves, and requests passed to
	// [Client.Handle]. The first element sees a request first. Requests from the server reach it
	// through the Peer of the request that they belong to.
	Middleware []Middleware

	// Revision is the only protocol revision to use. If it is empty, the Client negotiates one. A
	// client of a Handler in the same process uses no revision. Its requests fail with a
	// [RevisionError] unless Revision is empty or a modern one.
	Revision string
	// LegacyFirst uses the legacy era with a server that supports both. Some servers can send
	// requests to the client in a session, but not during modern requests. Over Streamable HTTP,
	// set it only for a server that is known to have sessions. A server without sessions also
	// responds to a handshake, and then cannot send requests.
	LegacyFirst bool
	// Timeout is how long a request may take without progress. The time stops while the server
	// waits for the client; log messages do not restart it. The default is 60 seconds; a negative
	// value means no limit. With Bridge, it applies to requests passed to [Client.Handle] only if
	// it is positive.
	Timeout time.Duration
	// MaxTimeout is the maximum duration of a request in total; the default is 30 minutes.
	MaxTimeout time.Duration
	// ConnectTimeout is the maximum duration of connecting in total; the default is 2 minutes.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long the Client waits for a response to the first, modern request before
	// it treats the server as a legacy server. The default is 5 seconds, or half of the remaining
	// connect time if that is less.
	ProbeTimeout time.Duration
	// KeepAlive is the interval of pings to the server; the default is none. If the server does not
	// respond to a ping within the interval, the connection ends: [Client.Done] is closed, and
	// requests fail with [ErrLost]. A server that blocks during a call needs a longer interval. An
	// error response counts as a response, and so does a connection that HTTP cannot make, because
	// the next request tries again.
	KeepAlive time.Duration
	// Starting, if not nil, reports whether the server is still being installed or started. While
	// it returns true, ProbeTimeout starts again, as the duration of a start does not depend on the
	// revision. Starting must be safe for concurrent use.
	Starting func() bool
	// ParkTimeout is how long a call through a bridge waits for the client's next round with the
	// responses; the default is 10 minutes.
	ParkTimeout time.Duration
	// TypeCodecs contains types whose values [Call] and [Client.CallTool] encode and decode in a form
	// of their own.
	TypeCodecs []TypeCodec
	// NoCache disables the cache for results that the server declared cacheable.
	NoCache bool
	// Wire, if not nil, receives the messages to and from the server.
	Wire Wire
	// Logger receives records of the server's faults, mostly at debug level; the default is
	// slog.Default(). Records of violations of the specification have the attribute [LogBreach].
	Logger *slog.Logger

	self *Meta
}

const methodPing = "ping"

// LogBreach is the attribute of log records about a violation of the specification that does not
// end the connection. Clients and their transports write these records. The value of the attribute
// states the violated rule and its place in the specification.
const LogBreach = tolerance.LogBreach

const (
	defaultTimeout    = 60 * time.Second
	defaultMaxTimeout = 30 * time.Minute
)

// Dial connects to the server behind a transport. It negotiates the protocol revision and, over
// HTTP, also the transport. The error names the server, the expected message and the received one.
// The caller must close the Client. Dial panics if t is nil.
func Dial(ctx context.Context, t Transport) (*Client, error) {
	return DialWith(ctx, t, ClientOptions{})
}

// DialWith is like [Dial], with options.
func DialWith(ctx context.Context, t Transport, o ClientOptions) (*Client, error) {
	if t == nil {
		panic("mcp: Dial: the transport t is nil")
	}
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
	if lost, ok := unwrappedAs[interface{ Lose(error) }](conn); ok && o.KeepAlive > 0 {
		c.watching.Go(func() { c.keepAlive(lost.Lose) })
	}
	return c, nil
}

// NewClient returns a client of a Handler in the same process. Requests run in the goroutine of
// their caller. A request that is cancelled, or ended by [Client.Close], therefore returns only
// when the Handler returns. NewClient panics if h is nil.
func NewClient(h Handler) *Client { return NewClientWith(h, ClientOptions{}) }

// NewClientWith is like [NewClient], with options.
func NewClientWith(h Handler, o ClientOptions) *Client {
	if h == nil {
		panic("mcp: NewClient: the handler h is nil")
	}
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
	if o.OneClient == nil && (o.OnElicit != nil || o.OnElicitComplete != nil || o.OnSample != nil || o.OnRoots != nil) {
		co.Peer = &clientPeer{client: c}
	}
	return co
}

func newClient(o ClientOptions) *Client {
	c := &Client{options: o}
	c.codecs, _ = joinCodecs(o.TypeCodecs, nil)
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

// introduce stores the description that the server sent.
func (c *Client) introduce(r Result) error {
	body, err := r.Encoded()
	if err != nil {
		return err
	}
	if err := schema.DecodeLoose(body, &c.discover); err != nil {
		c.options.logger().Debug("mcp: the server's description of itself cannot be read", "server", c.options.Name, "error", err,
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

// Server returns the description that the server sent, or nil. It is meant for display only.
func (c *Client) Server() *Implementation { return c.info }

// Capabilities returns the capabilities of the server.
func (c *Client) Capabilities() ServerCapabilities { return c.discover.Capabilities }

// Instructions returns the server's instructions for a model, which are often empty.
func (c *Client) Instructions() string { return c.discover.Instructions }

// Revision returns the protocol revision of the connection. It is empty for a Handler in the same
// process.
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
// can no longer be used. The channel is nil for a Handler in the same process.
func (c *Client) Done() <-chan struct{} {
	if c.conn == nil {
		return nil
	}
	return c.conn.Done()
}

// Err returns the reason for the loss of the connection, or nil while it is open.
func (c *Client) Err() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Err()
}

// Close ends the connection and everything that belongs to it: running requests, streams and the
// server's process. It cancels running requests at the server. They and all later requests fail
// with an error that wraps [ErrClosed]. If the server accepts no messages, Close waits only a
// moment.
func (c *Client) Close() error {
	c.closing(ErrClosed)
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	c.watching.Wait()
	return err
}

// Handle passes a request of another client on to the server. It implements [Handler].
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
		err = c.ended(within, req, err)
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

// do sends a request of the Client itself, with its own capabilities, callbacks and timeouts.
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
		err = c.ended(ctx, req, err)
	default:
		err = c.named(err)
	}
	return result, err
}

// named returns an error whose protocol error names the server. A Handler in the same process does
// not know the server's name. A tool that returns the error must not pass it on as its own.
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

// A namedError wraps an error. In its chain, it replaces the [Error] with a copy that names the
// server.
type namedError struct {
	error
	named *Error
}

func (e *namedError) Unwrap() error { return e.error }

// As sets target to the copy that names the server.
func (e *namedError) As(target any) bool {
	to, ok := target.(**Error)
	if ok {
		*to = e.named
	}
	return ok
}

// A strayError describes a line of the server that is not a message, and may have the response.
type strayError interface {
	error
	Stray() string
}

// ended returns the error of a request that failed with err while its context is done. It names the
// request, the cause, and a line of the server that may have the response.
func (c *Client) ended(ctx context.Context, req *Request, err error) error {
	cause := context.Cause(ctx)
	if stray, ok := errors.AsType[strayError](err); ok {
		cause = fmt.Errorf("%w; %s", cause, stray.Stray())
	}
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

// introduction returns the client's description and capabilities for the server. A bridge for
// several clients declares no roots. A server may request roots at any time and stores the result,
// so it cannot distinguish the clients.
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
