package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Limits and times of a connection to a server.
const (
	maxRounds     = 16                     // rounds of one request, before it is given up
	maxOpenCalls  = 10_000                 // requests to one server that wait for their answer
	tellTime      = 5 * time.Second        // how long telling a server something may take
	openTime      = 30 * time.Second       // how long the handshake may take
	probeTime     = 5 * time.Second        // how long a server may take to answer the first request
	newsTime      = 250 * time.Millisecond // how long a server may take to open a session's stream before calls are made
	parkTime      = 10 * time.Minute       // how long a call waits for its client to come back
	maxParked     = 1_024                  // calls that wait so
	settleTime    = 20 * time.Millisecond
	roundsBackoff = 100 * time.Millisecond
)

const (
	methodInitialize  = "initialize"
	methodPing        = "ping"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"

	notificationInitialized = "notifications/initialized"
	notificationCancelled   = "notifications/cancelled"
)

// An upstream is a connection to one server: the Handler that answers by asking
// it. What the two eras do differently is in its era.
type upstream struct {
	link    link.Link
	name    string
	options ClientOptions
	log     *slog.Logger

	era        era
	silent     bool // the server did not answer the probe in time
	revision   *revision.Revision
	discovered Result             // what server/discover answers
	has        ServerCapabilities // of the server
	mirrors    mirrors

	ids    atomic.Int64
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	owned  sync.WaitGroup // goroutines of the connection

	mu        sync.Mutex
	calls     map[jsonrpc.ID]*upcall
	listeners map[*upListener]struct{}
}

// An era is how requests of one of the two eras go to a server.
type era interface {
	// call asks the server and answers what it asks back on the way.
	call(ctx context.Context, req *Request) (Result, error)
	// listen passes the server's news on to req's Peer until ctx is done.
	listen(ctx context.Context, req *Request) (Result, error)
	// ping asks whether the server is alive.
	ping(ctx context.Context) error
	// asked takes a request of the server; c is the call it belongs to, if known.
	asked(c *upcall, m *jsonrpc.Message)
	// news takes a notification that belongs to no call.
	news(m *jsonrpc.Message)
}

// errClosed is why calls end when the connection is closed.
var errClosed = errors.New("the connection was closed")

// Handle asks the server.
func (u *upstream) Handle(ctx context.Context, req *Request) (Result, error) {
	switch req.Method {
	case methodDiscover:
		return u.discovered, nil
	case methodListen:
		return u.era.listen(ctx, req)
	case methodPing:
		return Result{}, u.era.ping(ctx)
	}
	if req.Method == methodToolsCall && req.Mirrored != nil {
		if err := u.mirrors.check(req); err != nil {
			return Result{}, err
		}
	}
	result, err := u.era.call(ctx, req)
	if err == nil && req.Method == methodToolsList {
		result.JSON = u.mirrors.learn(result.JSON, u.leaveOut)
	}
	return result, err
}

// leaveOut decides about a tool whose annotations of headers are invalid: HTTP
// clients must leave it out (2026-07-28 basic/transports/streamable-http).
func (u *upstream) leaveOut(tool string, err error) bool {
	if !u.link.ClosingCancels() || !u.revision.Modern {
		return false
	}
	u.log.Warn("mcp: tool left out", "server", u.name, "tool", tool, "error", err)
	return true
}

// run starts a goroutine of the connection, which close waits for; false if the
// connection is closed already.
func (u *upstream) run(f func()) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return false
	}
	u.owned.Go(f)
	return true
}

// close ends the connection and everything that belongs to it.
func (u *upstream) close() error {
	u.mu.Lock()
	u.cancel(errClosed)
	u.mu.Unlock()
	err := u.link.Close()
	u.owned.Wait()
	return err
}

// An upcall is one request that waits for the server's answer.
type upcall struct {
	id      jsonrpc.ID
	method  string
	courier courier

	mu  sync.Mutex
	req *Request // of the present round; nil while the call is parked
	ctx context.Context

	legacy *legacyCall // on a legacy connection
}

// attach makes req the round that hears of the call's progress.
func (c *upcall) attach(ctx context.Context, req *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.req = ctx, req
}

// detach leaves the call without a round: what comes is not told to anybody.
func (c *upcall) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.req = nil, nil
}

func (c *upcall) round() (context.Context, *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx, c.req
}

// open registers a call, so that what arrives for it finds it.
func (u *upstream) open(ctx context.Context, req *Request) (*upcall, error) {
	c := &upcall{id: jsonrpc.IntID(u.ids.Add(1)), method: req.Method}
	c.attach(ctx, req)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.calls) >= maxOpenCalls {
		return nil, fmt.Errorf("server %q: %d requests wait for an answer already", u.name, maxOpenCalls)
	}
	u.calls[c.id] = c
	return c, nil
}

func (u *upstream) done(c *upcall) {
	u.mu.Lock()
	delete(u.calls, c.id)
	u.mu.Unlock()
	c.courier.finish()
}

// callOf finds the call that a token or id names.
func (u *upstream) callOf(raw json.RawMessage) *upcall {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[jsonrpc.ID(raw)]
}

// someCall finds a call that something without a sender could belong to: the one
// that was made last, but never one that only lists where a tool is called. On one
// channel for everything nothing better is known.
func (u *upstream) someCall() *upcall {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last *upcall
	var number int64
	for id, c := range u.calls {
		n, _ := strconv.ParseInt(string(id), 10, 64)
		switch {
		case c.method == methodListen:
		case last == nil, c.mayAsk() && !last.mayAsk(), c.mayAsk() == last.mayAsk() && n >= number:
			last, number = c, n
		}
	}
	return last
}

// mayAsk reports whether a server has reason to ask or report in the middle of the call.
func (c *upcall) mayAsk() bool {
	return c.method == methodToolsCall || c.method == methodPromptsGet || c.method == methodResourcesRead
}

// exchange sends a request and returns what came back, errors of the protocol
// included. When ctx ends first it tells the server.
func (u *upstream) exchange(ctx context.Context, c *upcall, out link.Out) (*jsonrpc.Message, error) {
	m, err := u.link.Call(ctx, out, func(m *jsonrpc.Message) { u.receive(c, m) })
	if err == nil {
		return m, nil
	}
	if ctx.Err() != nil && out.Method != methodInitialize && u.link.Err() == nil {
		u.tellCancelled(ctx, out.ID)
	}
	return nil, err
}

// tellCancelled tells the server that a request is not wanted any more, where
// giving up its channel did not say so.
func (u *upstream) tellCancelled(ctx context.Context, id jsonrpc.ID) {
	if u.link.ClosingCancels() && u.revision != nil && u.revision.Modern {
		return
	}
	reason := jsonrpc.AppendString(nil, context.Cause(ctx).Error())
	u.tell(notificationCancelled, fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, id, reason))
}

// tell sends a notification; a server that cannot be told is noticed elsewhere.
func (u *upstream) tell(method string, params []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), tellTime)
	defer cancel()
	out := link.Out{Method: method, Message: jsonrpc.AppendNotification(nil, method, params), Header: u.header(method, "")}
	if err := u.link.Send(ctx, out); err != nil {
		u.log.Debug("mcp: the server could not be told", "server", u.name, "method", method, "error", err)
	}
}

// receive takes a message that is no response; c is the call on whose channel
// it came, or nil.
func (u *upstream) receive(c *upcall, m *jsonrpc.Message) {
	switch {
	case m.Kind == jsonrpc.Request:
		u.era.asked(c, m)
	case m.Kind != jsonrpc.Notification:
		u.log.Debug("mcp: a response that nobody waits for", "server", u.name, "id", string(m.ID))
	case m.Method == notificationProgress:
		if c := u.callOf(m.Members.Get("progressToken")); c != nil {
			c.deliver(m)
		}
	case m.Method == notificationMessage:
		if c == nil {
			c = u.someCall()
		}
		if c != nil {
			c.deliver(m)
			return
		}
		u.era.news(m)
	default:
		u.era.news(m)
	}
}

// deliver passes a notification on to whoever made the call.
func (c *upcall) deliver(m *jsonrpc.Message) {
	method, params := m.Method, m.Params
	c.courier.send(func() {
		ctx, req := c.round()
		if req == nil {
			return
		}
		if method == notificationProgress {
			params = jsonrpc.Without(params, "progressToken")
		}
		_ = req.Peer.Notify(ctx, method, params) // a client that is gone is noticed by its request
	})
}

// answer makes a Result of a server's response.
func (u *upstream) answer(req *Request, m *jsonrpc.Message) (Result, error) {
	if m.Error != nil {
		e := u.revision.ErrorFrom(req.Method, req.Name, m.Error)
		return Result{}, &Error{Code: e.Code, Message: e.Message, Data: e.Data, Server: u.name}
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return Result{}, fmt.Errorf("server %q: %s: expected a result that is an object, got %.80s", u.name, req.Method, m.Result)
	}
	body, a := u.revision.Split(m.Result, &m.Members)
	return Result{Type: a.Type, JSON: body, Meta: a.Meta, TTL: time.Duration(a.TTL) * time.Millisecond, Scope: CacheScope(a.Scope)}, nil
}

// A courier carries notifications of one call to its client, in order and
// beside the connection's reading, so that a slow client does not hold up others.
type courier struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	idle    *sync.Cond
}

// maxCarried is how many notifications of a call may wait; more are dropped, as
// a client that slow has no use for them.
const maxCarried = 1_024

func (c *courier) send(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) >= maxCarried {
		return
	}
	c.queue = append(c.queue, f)
	if !c.running {
		c.running = true
		go c.run()
	}
}

func (c *courier) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		f := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		f()
		c.mu.Lock()
	}
	c.running = false
	if c.idle != nil {
		c.idle.Broadcast()
	}
}

// finish waits until everything was delivered.
func (c *courier) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = sync.NewCond(&c.mu)
	}
	for c.running {
		c.idle.Wait()
	}
}
