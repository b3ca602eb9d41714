package edge

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// A Connection serves one client that sends all its messages over one pair of streams, in either
// era. The streams are standard input and output, a socket, or the two halves of HTTP+SSE. A
// Connection handles each modern request separately, and a legacy session after an initialize. A
// client may use both at the same time.
type Connection struct {
	edge      *Edge
	out       Sender
	principal *mcp.Principal
	ctx       context.Context
	cancel    context.CancelCauseFunc
	listening sync.WaitGroup // the Listen of the session

	calls   Calls[jsonrpc.ID]
	batches Calls[*Job]
	held    *Budget // messages in progress

	// Way describes how messages travel; nil means by pipe. It must be set before the first
	// message.
	Way Way

	mu         sync.Mutex
	session    *Session
	unread     int  // batches that run, which may have responses to requests to the client
	inputEnded bool // set by EndInput
}

// NewConnection returns a connection that sends its messages to out. Several goroutines call out at
// the same time. The connection ends with ctx. The caller must call [Connection.Close].
func (e *Edge) NewConnection(ctx context.Context, out Sender, principal *mcp.Principal) *Connection {
	c := &Connection{edge: e, out: out, principal: principal, held: NewBudget(maxConnectionHeld)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// TransportInfo implements [Way].
func (c *Connection) TransportInfo() mcp.TransportInfo {
	if c.Way == nil {
		return mcp.TransportInfo{Network: "pipe"}
	}
	return c.Way.TransportInfo()
}

// Close cancels the running requests with [ErrShutdown], and ends the session and its
// notifications. It does not wait for jobs; the caller must wait for them.
func (c *Connection) Close() {
	c.cancel(ErrShutdown)
	s := c.current() // after this, listener finds ctx done and starts nothing
	c.listening.Wait()
	if s != nil {
		s.Close()
	}
}

// Caller returns the key of the connection's share of the limits, from its context.
func (c *Connection) Caller() string { return share.Of(c.ctx) }

// Held returns the number of bytes of the messages in progress.
func (c *Connection) Held() int { return c.held.Held() }

// Refuse makes all later requests fail with [ErrShutdown]. Running requests continue.
func (c *Connection) Refuse() { c.calls.Close(ErrShutdown) }

// EndInput makes requests to the client fail, as no more messages will be accepted. Calls that wait
// for the client then end at once, or after the batches that were accepted before.
func (c *Connection) EndInput() {
	c.mu.Lock()
	s := c.session
	c.inputEnded = true
	waits := c.unread > 0
	c.mu.Unlock()
	if s != nil && !waits {
		s.requests.end()
	}
}

// batchBegins records a batch, which may have responses to requests to the client.
func (c *Connection) batchBegins(j *Job) {
	c.batches.Begin(c.ctx, j, false, 0) // the requests in the batch begin later, one by one
	c.mu.Lock()
	c.unread++
	c.mu.Unlock()
}

func (c *Connection) batchEnds(j *Job) {
	c.mu.Lock()
	s := c.session
	c.unread--
	last := c.inputEnded && c.unread == 0
	c.mu.Unlock()
	if s != nil && last {
		s.requests.end()
	}
	c.batches.End(j)
}

// Drain waits until only subscriptions are running or ctx is done.
func (c *Connection) Drain(ctx context.Context) {
	c.batches.Drain(ctx)
	c.calls.Drain(ctx)
}

// A Job is the remaining work for a message after [Connection.Accept]. A Job can be reused for
// another message.
type Job struct {
	connection *Connection
	message    jsonrpc.Message
	ctx        context.Context
	session    *Session // nil for a modern request
	principal  *mcp.Principal
	batch      []byte
	reply      []byte
	held       int // bytes taken from the connection's budget
}

// Accept takes one message or batch. Messages must be passed in the order of their arrival. Accept
// applies changes at once that later messages depend on: handshake, log level, cancellation, and
// responses to requests of the server. It reports whether [Job.Run] must do the remaining work. The
// caller must not change data afterwards.
func (c *Connection) Accept(j *Job, data []byte) bool {
	return c.AcceptOf(j, data, c.principal)
}

// AcceptOf is like Accept, for a message with its own credentials. They must belong to the
// principal of the connection, but may have other scopes.
func (c *Connection) AcceptOf(j *Job, data []byte, principal *mcp.Principal) bool {
	*j = Job{connection: c, principal: principal}
	if jsonrpc.IsBatch(data) {
		if j.batch = data; !c.hold(j, len(data)) {
			j.reply = jsonrpc.AppendError(nil, "", tooMuchHeld())
		} else {
			c.batchBegins(j)
		}
		return true
	}
	var fault *jsonrpc.Error
	if j.message, fault = Parse(data); fault != nil {
		c.hold(j, len(data)) // the response may have to wait as well; without room, no more input is read
		j.reply = jsonrpc.AppendError(nil, j.message.ID, fault)
		return true
	}
	size := Compact(&j.message, len(data))
	if j.message.Kind == jsonrpc.Request && !c.hold(j, size) {
		j.reply = jsonrpc.AppendError(nil, j.message.ID, tooMuchHeld())
		return true
	}
	return c.accept(j)
}

// hold takes size bytes and the cost of a job from the budgets, until the job has run.
func (c *Connection) hold(j *Job, size int) bool {
	if !c.held.Admit(size + jobSize) {
		return false
	}
	if !c.edge.AdmitMessage(size, c) {
		c.held.Release(size + jobSize)
		return false
	}
	j.held = size + jobSize
	return true
}

// release returns the bytes that hold took.
func (j *Job) release() {
	if j.held > 0 {
		j.connection.held.Release(j.held)
		j.connection.edge.ReleaseMessage(j.held-jobSize, j.connection)
	}
}

func tooMuchHeld() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InternalError, "too many bytes of messages in progress: at most %d MiB of one client, and %d MiB of all; wait for a response", maxConnectionHeld>>20, maxMessagesHeld>>20)
}

func (c *Connection) accept(j *Job) bool {
	m := &j.message
	switch m.Kind {
	case jsonrpc.Notification:
		c.notification(m)
		return false
	case jsonrpc.Response:
		if s := c.current(); s != nil {
			s.Response(m)
		}
		return false
	}
	var fault *jsonrpc.Error
	if j.ctx, fault = c.calls.Begin(c.ctx, m.ID.Plain(), m.Method == methodListen, c.edge.options.InFlight); fault != nil {
		j.reply = jsonrpc.AppendError(nil, m.ID, fault)
		return true
	}
	if !IsModern(m) {
		c.acceptLegacy(j)
	}
	if j.reply != nil {
		c.calls.End(m.ID.Plain())
	}
	return true
}

// acceptLegacy finds the session of a request without modern metadata. It responds to requests that
// change the session.
func (c *Connection) acceptLegacy(j *Job) {
	m := &j.message
	j.session = c.current()
	switch {
	case j.session == nil && m.Method == methodInitialize:
		j.reply = c.initialize(j)
	case j.session != nil && m.Method == methodSetLevel:
		j.reply = j.session.Request(j.ctx, nil, m, From{Way: c}).Message
	case j.session == nil && m.Method == methodPing:
		j.reply = jsonrpc.AppendResult(nil, m.ID, []byte(`{}`)) // allowed before the handshake
	}
}

// Run does the remaining work, and returns dst with the response appended, or nil if there is no
// response. It returns after the Handler of the request has returned. Several jobs may run at the
// same time.
func (j *Job) Run(dst []byte) []byte {
	c := j.connection
	defer j.release()
	switch {
	case j.reply != nil:
		return append(dst, j.reply...)
	case j.batch != nil:
		defer c.batchEnds(j)
		return c.batch(dst, j)
	}
	defer c.calls.End(j.message.ID.Plain())
	from := From{Principal: j.principal, Caller: c, Out: c.out, Way: c}
	if j.session != nil {
		return j.session.Request(j.ctx, dst, &j.message, from).Message
	}
	return c.edge.Modern(j.ctx, dst, &j.message, from).Message
}

func (c *Connection) current() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *Connection) initialize(j *Job) []byte {
	m := &j.message
	s, reply := c.edge.Initialize(j.ctx, nil, m, From{Principal: j.principal, Way: c})
	if s == nil || c.adopt(s) {
		return reply.Message
	}
	s.Close()
	return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: this session was initialized already"))
}

// adopt sets the connection's session to s. It reports false if the connection already has a
// session or is closed.
func (c *Connection) adopt(s *Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil || c.ctx.Err() != nil {
		return false
	}
	c.session = s
	return true
}

// notification handles a notification from the client.
func (c *Connection) notification(m *jsonrpc.Message) {
	if s := c.current(); s != nil {
		s.Show(m)
	} else {
		l := c.edge.lineOf(&mcp.Meta{})
		l.passes(c.ctx, true, m.Raw())
	}
	switch m.Method {
	case notifyCancelled:
		c.calls.Cancel(CancelledID(m), ErrCancelled)
	case notifyInitialized:
		c.listen()
	}
}

// CancelledID returns the id in a notifications/cancelled, in its plain form.
func CancelledID(m *jsonrpc.Message) jsonrpc.ID {
	return jsonrpc.ID(m.Members.Get("requestId")).Plain()
}

// clientForms lists the non-standard forms that are accepted from a client. Ids are repeated in the
// received form. In parameters, the replacement character stands for half a surrogate pair. Bytes
// in another encoding are refused, as they may be part of a name.
const clientForms = jsonrpc.OddNumber | jsonrpc.OddSurrogate

// Parse parses one message of a client.
func Parse(data []byte) (jsonrpc.Message, *jsonrpc.Error) {
	return jsonrpc.ParseLoose(data, jsonrpc.Limits{}, clientForms)
}

// listen starts the notifications of the legacy session, at most once.
func (c *Connection) listen() {
	s := c.listener()
	if s == nil {
		return
	}
	listen, err := s.Listen(c.ctx, c.out)
	if err != nil {
		c.listening.Done()
		c.edge.log.Debug("mcp: the client sent initialized twice")
		return
	}
	go func() {
		defer c.listening.Done()
		listen()
	}()
}

// listener returns the session to listen for. It returns nil if there is no session or after Close.
// Close waits for the caller, which must call c.listening.Done.
func (c *Connection) listener() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || c.ctx.Err() != nil {
		return nil
	}
	c.listening.Add(1)
	return c.session
}

// batch handles the messages of a batch concurrently, and joins the responses.
func (c *Connection) batch(dst []byte, of *Job) []byte {
	s := c.current()
	if s == nil || !s.revision.Batches {
		name := revision.Latest().Name
		if s != nil {
			name = s.revision.Name
		}
		return jsonrpc.AppendError(dst, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s has no batches: send one message at a time", name))
	}
	return Batch(dst, of.batch, c.edge.options.InFlight, func(m *jsonrpc.Message) []byte {
		if m.Method == methodInitialize {
			return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch"))
		}
		j := Job{connection: c, message: *m, principal: of.principal}
		if !c.accept(&j) {
			return nil
		}
		return j.Run(nil)
	})
}

// Batch handles the messages of a batch concurrently, and returns dst with the responses appended
// as one array. It returns nil if there are no responses. A batch has at most limit messages.
func Batch(dst, data []byte, limit int, handle func(*jsonrpc.Message) []byte) []byte {
	elements, fault := jsonrpc.SplitBatch(data, limit, jsonrpc.Limits{})
	if fault != nil {
		return jsonrpc.AppendError(dst, "", fault)
	}
	responses := make([][]byte, len(elements))
	held := NewBudget(maxBatchResponses)
	var running sync.WaitGroup
	for i, element := range elements {
		running.Go(func() { responses[i] = batchResponse(element, held, handle) })
	}
	running.Wait()
	w, any := jsonrpc.NewArray(dst), false
	for _, response := range responses {
		if response != nil {
			w.Element(response)
			any = true
		}
	}
	if !any {
		return nil
	}
	return w.Bytes()
}

// batchResponse handles one message of a batch. The budget held limits the bytes of all responses
// together, as they all wait for the last one. Once it is exceeded, no further request of the batch
// runs.
func batchResponse(element []byte, held *Budget, handle func(*jsonrpc.Message) []byte) []byte {
	m, fault := Parse(element)
	if fault != nil {
		return jsonrpc.AppendError(nil, m.ID, fault)
	}
	if m.Kind != jsonrpc.Request {
		return handle(&m)
	}
	if held.Admit(0) {
		response := handle(&m)
		if held.Admit(len(response)) {
			return response
		}
		held.Close()
	}
	return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "the responses to the batch have more than %d bytes together: send fewer messages at a time", maxBatchResponses))
}
