package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
)

// A Client asks a server. Its methods are sugar over Handle: list, call, read,
// get, complete, listen. It is a [Handler] too, so a server transport around a
// Client is a proxy. All methods are safe for concurrent use.
type Client struct {
	handler  Handler
	upstream *upstream // nil where the Handler is in this process
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
	// left out of an accepted answer are filled with the form's defaults, and the
	// answer is checked against the form.
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

	// Bridge declares everything that can be passed on to a client further down,
	// for a Client that is the back of a proxy: questions go to the Peer of the
	// request that they belong to.
	Bridge bool
	// Capabilities are declared beside what the callbacks stand for: experimental
	// ones and extensions.
	Capabilities ClientCapabilities

	// Middleware sees every request that goes to the server after the connection
	// was made, and its result: those of the Client's own methods that no cache
	// answers, and those that [Client.Handle] passes on. The first sees a request
	// first. What the server asks on the way is part of the request it belongs to.
	Middleware []Middleware

	// Revision, if not empty, is the only revision spoken; default is to find out.
	Revision string
	// Timeout is how long a request may take without a sign of life (progress, a
	// question); default 60 seconds, negative for none.
	Timeout time.Duration
	// MaxTimeout is how long a request may take in any case; default 30 minutes.
	MaxTimeout time.Duration
	// ConnectTimeout is how long connecting may take in all; default 30 seconds.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long a server may take to answer the first, modern
	// request before it is taken for a legacy one; default 5 seconds.
	ProbeTimeout time.Duration
	// ParkTimeout is how long a call of a bridge waits for its client to come back
	// with an answer; default 10 minutes.
	ParkTimeout time.Duration
	// NoCache asks the server for every list, whatever it said of caching.
	NoCache bool
	// Logger is told what a server does wrong, mostly at debug level; default
	// slog.Default().
	Logger *slog.Logger

	outside Peer // answers what a legacy server asks while no call runs
	self    *Meta
}

const (
	defaultTimeout    = 60 * time.Second
	defaultMaxTimeout = 30 * time.Minute
)

// Dial connects to the server behind a transport, whichever revision it speaks
// and, on HTTP, whichever transport. The error names the server and says what
// was expected and what came. Close the client when done.
func Dial(ctx context.Context, t Transport, options ...ClientOptions) (*Client, error) {
	c := newClient(options)
	c.options.Name = c.options.name(t)
	if c.options.OnElicit != nil || c.options.OnSample != nil || c.options.OnRoots != nil {
		c.options.outside = &clientPeer{client: c}
	}
	u, err := connect(ctx, t, c.options)
	if err != nil {
		c.closing(errClosed)
		return nil, err
	}
	c.upstream, c.handler = u, Chain(u, c.options.Middleware...)
	return c, c.introduce(u.discovered)
}

// NewClient returns a client of a Handler in the same process.
func NewClient(h Handler, options ...ClientOptions) *Client {
	c := newClient(options)
	c.handler = Chain(h, c.options.Middleware...)
	if c.options.Name == "" {
		c.options.Name = "in-process"
	}
	if r, err := h.Handle(c.ctx, &Request{Method: methodDiscover, Meta: *c.options.self, Peer: noPeer{}}); err == nil {
		_ = c.introduce(r) // what cannot be read is not known
	}
	return c
}

func newClient(options []ClientOptions) *Client {
	c := &Client{}
	if len(options) > 0 {
		c.options = options[0]
	}
	if c.options.OnLog != nil && c.options.LogLevel == "" {
		c.options.LogLevel = LogInfo
	}
	meta := c.options.describe()
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
		c.options.logger().Debug("mcp: what the server says of itself cannot be read", "server", c.options.Name, "error", err)
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
	if c.upstream == nil {
		return ""
	}
	return c.upstream.revision.Name
}

// Name names the server in errors and logs.
func (c *Client) Name() string { return c.options.Name }

// Dead is closed when the connection to the server is lost; nil in process.
func (c *Client) Dead() <-chan struct{} {
	if c.upstream == nil {
		return nil
	}
	return c.upstream.link.Dead()
}

// Err says why the connection is lost; nil while it is not.
func (c *Client) Err() error {
	if c.upstream == nil {
		return nil
	}
	return c.upstream.link.Err()
}

// Close ends the connection and everything that belongs to it: running
// requests, streams, the server's process.
func (c *Client) Close() error {
	c.closing(errClosed)
	var err error
	if c.upstream != nil {
		err = c.upstream.close()
	}
	c.watching.Wait()
	return err
}

// Handle passes a request of somebody else on to the server.
func (c *Client) Handle(ctx context.Context, req *Request) (Result, error) {
	return c.handler.Handle(ctx, req)
}

// Ping asks whether the server is alive.
func (c *Client) Ping(ctx context.Context) error {
	method := methodPing
	if c.upstream == nil {
		method = methodDiscover
	}
	_, err := c.do(ctx, &Request{Method: method})
	return err
}

// do makes a request for the client itself: with its capabilities, its
// callbacks, and its patience.
func (c *Client) do(ctx context.Context, req *Request) (Result, error) {
	if result, ok := c.cache.get(req); ok {
		return result, nil
	}
	result, err := c.ask(ctx, req)
	if err != nil {
		return Result{}, err
	}
	c.cache.put(req, &result)
	return result, nil
}

func (c *Client) ask(ctx context.Context, req *Request) (Result, error) {
	peer := &clientPeer{client: c, progress: progressFrom(ctx)}
	req.Meta, req.Peer = *c.options.self, peer
	if peer.progress != nil || c.options.OnProgress != nil {
		req.Meta.ProgressToken = json.RawMessage("0")
	}
	if c.options.Timeout < 0 {
		return c.handler.Handle(ctx, req)
	}
	ctx, done := peer.patience.watch(ctx, c.options, req)
	defer done()
	result, err := c.handler.Handle(ctx, req)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // says more than what the connection makes of it
	}
	return result, err
}

// patience ends a request that shows no sign of life for too long.
type patience struct {
	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	held  int // questions the user is thinking about
}

func (p *patience) watch(ctx context.Context, o ClientOptions, req *Request) (context.Context, func()) {
	limit, most := o.Timeout, o.MaxTimeout
	if limit == 0 {
		limit = defaultTimeout
	}
	if most <= 0 {
		most = max(defaultMaxTimeout, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.limit = limit
	p.timer = time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("server %q: %s: no sign of life for %v: %w", o.Name, describe(req), limit, context.DeadlineExceeded))
	})
	all := time.AfterFunc(most, func() {
		cancel(fmt.Errorf("server %q: %s: not done after %v: %w", o.Name, describe(req), most, context.DeadlineExceeded))
	})
	return ctx, func() {
		all.Stop()
		p.mu.Lock()
		p.timer.Stop()
		p.mu.Unlock()
		cancel(nil)
	}
}

// renew gives the request its time anew: there was a sign of life.
func (p *patience) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil && p.held == 0 && p.timer.Stop() {
		p.timer.Reset(p.limit)
	}
}

// hold stops the clock while a question is being answered; the function that it
// returns starts it again.
func (p *patience) hold() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return func() {}
	}
	p.held++
	p.timer.Stop()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held--; p.held == 0 {
			p.timer.Reset(p.limit)
		}
	}
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

// meta is the metadata of requests that a connection makes for itself.
func (o *ClientOptions) meta() Meta {
	if o.self != nil {
		return *o.self
	}
	return o.describe()
}

// describe says what the client is and what it can be asked for.
func (o *ClientOptions) describe() Meta {
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
	if o.OnRoots != nil || o.Bridge {
		capabilities.Roots = &RootsCapability{}
	}
	return Meta{Client: &info, Capabilities: &capabilities, LogLevel: o.LogLevel}
}
