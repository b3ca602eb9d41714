package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// Limits and times of a connection.
const (
	maxCalls      = 10_000                 // requests to one server that wait for their response or are being cancelled
	maxListens    = maxCalls / 2           // listen requests among these; they last long and leave room for others
	maxResponses  = 256                    // responses that are being sent to the server
	maxSendBytes  = 32 << 20               // bytes of these responses
	maxRounds     = 16                     // rounds of one request; after them, the request fails
	maxPages      = 1_000                  // pages of a list that is read for its headers
	closeTime     = 5 * time.Second        // how long Close waits for clients that accept no notification
	levelTime     = 100 * time.Millisecond // time for a server to accept a log level before a call
	sendTime      = 5 * time.Second        // time for sending a notification to the server
	respondTime   = 30 * time.Second       // time for sending a response to the server, with repetitions
	connectTime   = 2 * time.Minute        // time for connecting
	probeTime     = 5 * time.Second        // wait for the response to server/discover
	lateTime      = 250 * time.Millisecond // wait for a late response to server/discover after a response to initialize
	streamTime    = 250 * time.Millisecond // time for opening the session's stream before calls begin
	roundsBackoff = 100 * time.Millisecond // pause before the next round if the server asked for nothing; doubled with each round
)

const (
	methodInitialize  = "initialize"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodToolsCall   = "tools/call"
	methodToolsList   = "tools/list"
	methodPromptsGet  = "prompts/get"
	methodElicit      = "elicitation/create"
	methodSample      = "sampling/createMessage"
	methodRootsList   = "roots/list"

	notificationInitialized  = "notifications/initialized"
	notificationCancelled    = "notifications/cancelled"
	notificationProgress     = "notifications/progress"
	notificationMessage      = "notifications/message"
	notificationRootsChanged = "notifications/roots/list_changed"
	notificationAcknowledged = "notifications/subscriptions/acknowledged"
	notificationUpdated      = "notifications/resources/updated"
	notificationTaskStatus   = "notifications/tasks/status"

	notificationElicitComplete = "notifications/elicitation/complete"
)

// A conn is a connection to one server.
type conn struct {
	link    link.Link
	options mcp.ConnectOptions
	log     *slog.Logger
	tools   toolTable

	session   atomic.Pointer[session] // nil until the era is known
	late      *discovery              // the last server/discover; belongs to the goroutine that connects
	ids       atomic.Int64
	places    *share.Budget // requests that wait, and cancellations that are being sent
	listens   *share.Budget // listen requests
	repeating *share.Budget // repeated cancellations
	namesNone atomic.Bool   // set if the server sent a request that names no call
	inFlight  inFlight      // notifications that wait for listeners
	queued    *share.Budget // bytes of the notifications in all mailboxes

	ctx       context.Context // ends with the connection
	cancel    context.CancelCauseFunc
	open      context.Context // ends a little earlier, when Close begins, to give up requests
	giveUpAll context.CancelCauseFunc
	owned     sync.WaitGroup // goroutines of the connection

	work    chan func()   // for idle workers
	waiting atomic.Int64  // number of idle workers
	done    chan struct{} // closed when the connection can no longer be used

	gone     chan struct{} // closed when Close has returned
	closeErr error         // result of Close

	responses     chan struct{} // a value for each response that is being sent
	responseBytes atomic.Int64  // bytes of these responses
	lingers       chan struct{} // signalled when lingering changes
	settled       chan struct{} // signalled when owed shrinks

	mu      sync.Mutex
	closing bool  // set when no further requests may begin
	closed  bool  // set when no further goroutines may begin
	ended   bool  // set when done is closed
	lost    error // why the connection ended, if the link has no reason
	calls   map[jsonrpc.ID]*call

	owed      map[*call]context.Context // exchanges whose cancellation the server must get when the context ends
	lingering map[any]*linger           // by the client that gave up calls
	cancelled int64                     // number of finished exchanges of such calls
	leaving   bool                      // set while watchLingering runs
	stray     time.Time                 // until this time, the server may still work on a call whose response was lost
}

// A session holds the facts about a server. It is immutable.
type session struct {
	id           jsonrpc.ID // id of the initialize that began it; empty for a modern server
	era          era
	revision     *revision.Revision
	discover     mcp.Result             // result of server/discover
	capabilities mcp.ServerCapabilities // of the server
	hasTasks     bool                   // set if the server has tasks of 2025-11-25
}

// An era implements requests to servers of one of the two eras.
type era interface {
	// call sends a request, and responds to the requests that the server sends during the call.
	call(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error)
	// listen passes the server's notifications to the Peer of req until ctx is done.
	listen(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error)
	// ping reports whether the server responds.
	ping(ctx context.Context, s *session) error
	// request handles a request of the server. It came on the channel of the call c, if that is not
	// nil.
	request(s *session, c *call, m *jsonrpc.Message)
	// notify handles a notification that belongs to no call.
	notify(s *session, m *jsonrpc.Message)
}

func newConn(l link.Link, o mcp.ConnectOptions) *conn {
	c := &conn{options: o, log: o.Logger, calls: make(map[jsonrpc.ID]*call), places: share.New(maxCalls), listens: share.New(maxListens), repeating: share.New(maxRepeating), queued: share.Bytes(maxAllEventBytes),
		done: make(chan struct{}), gone: make(chan struct{}), responses: make(chan struct{}, maxResponses), lingers: make(chan struct{}, 1), settled: make(chan struct{}, 1), owed: make(map[*call]context.Context), work: make(chan func())}
	c.log = cmp.Or(c.log, slog.Default())
	c.link = c.reading(l)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.open, c.giveUpAll = context.WithCancelCause(c.ctx)
	c.spawn(func() {
		select {
		case <-l.Done():
			c.end(nil)
		case <-c.ctx.Done():
		}
	})
	return c
}

// Revision implements [mcp.Conn].
func (c *conn) Revision() string { return c.session.Load().revision.Name }

// Done implements [mcp.Conn].
func (c *conn) Done() <-chan struct{} { return c.done }

// Err implements [mcp.Conn].
func (c *conn) Err() error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if err := c.link.Err(); err != nil && !errors.Is(lost, mcp.ErrLost) {
		return err
	}
	return lost
}

// Lose closes the connection because of err, which wraps [mcp.ErrLost]. It implements the method that
// [mcp.ClientOptions.KeepAlive] needs.
func (c *conn) Lose(err error) {
	c.end(err)
	_ = c.Close()
}

// whyClosed returns the error of a request after the connection was closed.
func (c *conn) whyClosed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason()
}

// reason is whyClosed for callers that hold the lock.
func (c *conn) reason() error {
	if errors.Is(c.lost, mcp.ErrLost) {
		return c.lost
	}
	return mcp.ErrClosed
}

// end marks the connection as done. The error err is the reason if the link has none.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended, c.lost = true, err
		close(c.done)
	}
}

// Close implements [mcp.Conn]. It gives up running requests as if their clients had done so. A
// second call waits for the first one.
func (c *conn) Close() error {
	running, first := c.stopCalls()
	if !first {
		<-c.gone
		return c.closeErr
	}
	defer close(c.gone)
	c.end(mcp.ErrClosed)
	for _, k := range running {
		k.giveUp(mcp.ErrClosed)
	}
	c.giveUpAll(mcp.ErrClosed)
	c.settleOwed()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(mcp.ErrClosed)
	c.closeErr = c.link.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.owned.Wait()
	}()
	limit := time.NewTimer(closeTime)
	defer limit.Stop()
	select {
	case <-ended:
	case <-limit.C: // a Peer ignores its context, as with a client that does not read
		c.log.Warn("mcp: a connection was closed during a call, because its client does not read", "server", c.options.Name)
	}
	return c.closeErr
}

// whileOpen returns a context that also ends when the connection is closed.
func (c *conn) whileOpen(ctx context.Context) (_ context.Context, stop func()) {
	within, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(c.open, func() { cancel(mcp.ErrClosed) })
	return within, func() { release(); cancel(nil) }
}

// spawn starts a goroutine of the connection; Close waits for it. It reports false if the
// connection is closed.
func (c *conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.owned.Go(f)
	return true
}

// Handle implements [mcp.Handler]. It sends the request to the server.
func (c *conn) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	s := c.session.Load()
	if req.Method == methodDiscover {
		return s.discover, nil
	}
	if err := c.notSent(req); err != nil {
		return mcp.Result{}, err
	}
	switch req.Method {
	case methodListen:
		return s.era.listen(ctx, s, req)
	case methodPing:
		return mcp.Result{}, s.era.ping(ctx, s)
	case methodTasksList: // a server lists the tasks of all clients of this connection
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "server %q: tasks cannot be listed, because their owners are not known", c.options.Name)
	}
	if req.Method == methodToolsCall && req.ParamHeaders != nil {
		if err := c.tools.check(req); err != nil {
			return mcp.Result{}, err
		}
	}
	result, err := s.era.call(ctx, s, req)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = link.WithStray(c.link, err)
	}
	if err == nil && req.Method == methodToolsList {
		result.JSON = c.tools.learn(result.JSON, c.omits(s))
	}
	if req.Method == methodToolsCall { // a notification may cause other requests
		c.inFlight.wait(ctx)
	}
	return result, err
}

// omits returns a function that decides whether to omit a tool with invalid header annotations.
// HTTP clients must omit it (2026-07-28 basic/transports/streamable-http).
func (c *conn) omits(s *session) func(tool string, err error) bool {
	return func(tool string, err error) bool {
		if !c.link.ClosingCancels() || !s.revision.Modern {
			return false
		}
		c.log.Warn("mcp: tool omitted: its header annotations are invalid", "server", c.options.Name, "tool", tool, "error", err)
		return true
	}
}

// exchange sends a request in a separate goroutine. The result becomes an event of the call. If ctx
// ends first, the server gets a cancellation.
func (c *conn) exchange(ctx context.Context, k *call, out link.Out) {
	c.exchangeBegins(k)
	c.owes(ctx, k)
	run := func() {
		m, err := c.link.Call(ctx, out, func(m *jsonrpc.Message) { c.receive(k, m) })
		givenUp := err != nil && ctx.Err() != nil
		if givenUp { // the caller need not wait until the server accepts the cancellation
			k.events.put(event{kind: response, err: err})
		}
		sent := !givenUp || c.sendCancelled(ctx, k.id)
		c.settles(k)
		if !errors.Is(err, link.ErrMayArrive) || !c.spawn(func() { c.exchangeOver(k, c.cancelAgain(ctx, k.id) || sent) }) {
			c.exchangeOver(k, sent)
		}
		if !givenUp {
			k.events.put(event{kind: response, message: m, err: err})
		}
	}
	if !c.inWorker(run) {
		c.settles(k)
		k.events.put(event{kind: response, err: mcp.ErrClosed})
	}
}

// simple sends a request that needs no notifications, server requests or further rounds.
func (c *conn) simple(ctx context.Context, s *session, req *mcp.Request, out func(id jsonrpc.ID) link.Out) (*jsonrpc.Message, error) {
	k, err := c.addCallWithin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer c.finishCall(k)
	k.session = s
	o := out(k.id)
	m, err := c.link.Call(k.ctx, o, func(m *jsonrpc.Message) { c.receive(k, m) })
	if err != nil {
		if k.ctx.Err() != nil {
			c.cancelCall(k, func(bool) {})
		}
		return nil, c.failed(s, req, err)
	}
	return m, nil
}

// send sends a notification. It reports false if the server did not accept the notification but may
// still need it. A server that lost its session no longer needs it. If the server cannot be
// reached, the next request detects that.
func (c *conn) send(method string, params []byte) bool {
	ctx, cancel := context.WithTimeout(c.ctx, sendTime)
	defer cancel()
	out := link.Out{Method: method, Message: jsonrpc.AppendNotification(nil, method, params), Header: c.header(c.session.Load(), method, "")}
	err := c.link.Send(ctx, out)
	if err != nil {
		c.log.Debug("mcp: a notification did not reach the server", "server", c.options.Name, "method", method, "error", err)
	}
	return err == nil || errors.Is(err, link.ErrSessionLost)
}

// inputRequests is the quoted name of the member of a modern result with the server's requests.
const longResult = 16 << 10

// result returns the Result in a server's response.
func (c *conn) result(ctx context.Context, s *session, req *mcp.Request, m *jsonrpc.Message) (mcp.Result, error) {
	if m.Error != nil {
		return mcp.Result{}, c.protocolError(s, req, m.Error)
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return mcp.Result{}, fmt.Errorf("server %q: %s: %w, got %.80s", c.options.Name, describe(req), loose.ErrNoObject, m.Result)
	}
	body, a, err := s.revision.Split(req.Method, m.Result, &m.Members)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("server %q: %s: %w", c.options.Name, describe(req), err)
	}
	if a.Type == revision.Task && !task.Declared(req.Meta.Capabilities) {
		return mcp.Result{}, fmt.Errorf("server %q: %s: the result is a task, and the client did not declare that it knows tasks", c.options.Name, describe(req))
	}
	if !s.revision.Modern && mayAsk(req.Method) && m.Members.Get("inputRequests") != nil {
		// The Go SDK (1.8.0) sends the second elicitation of a tool in this form.
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "server %q: %s: the result is an elicitation by inputRequests, which is a form of %s and not of a session of %s",
			c.options.Name, describe(req), revision.Latest().Name, s.revision.Name)
	}
	if a.Type == "" || a.Type == revision.Complete {
		if filled := revision.Filled(req.Method, body, &m.Members); len(filled) != len(body) {
			c.met(ctx, tolerance.MissingMember, req.Method)
			body = filled
		}
	}
	result := mcp.Result{Type: string(a.Type), JSON: body, Meta: a.Meta, TTL: time.Duration(a.TTL) * time.Millisecond, Scope: mcp.CacheScope(a.Scope)}
	if req.Method == "tools/call" && len(body) >= longResult {
		result.Value = revision.KeepCall(body, &m.Members)
	}
	return result, nil
}
