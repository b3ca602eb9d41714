package edge

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A Connection is one client that sends all its messages over one pair of
// streams, in either era: standard input and output, a socket, or the two
// halves of HTTP+SSE. It serves modern requests each for itself and a legacy
// session after an initialize, both at once if the client likes.
type Connection struct {
	edge      *Edge
	out       Sender
	principal *mcp.Principal
	ctx       context.Context
	cancel    context.CancelCauseFunc
	news      sync.WaitGroup // the session's Listen

	inFlight InFlight

	mu      sync.Mutex
	session *Session
}

// NewConnection returns a connection whose messages go to out, which must order
// what several goroutines send. ctx ends it; call [Connection.Close] in any case.
func (e *Edge) NewConnection(ctx context.Context, out Sender, principal *mcp.Principal) *Connection {
	c := &Connection{edge: e, out: out, principal: principal}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// Close ends the requests that still run, as at a shutdown, and the news.
// Whoever runs jobs waits for them itself.
func (c *Connection) Close() {
	c.cancel(ErrShutdown)
	c.news.Wait()
}

// Drain waits until no request but subscriptions is running, or ctx is done.
func (c *Connection) Drain(ctx context.Context) { c.inFlight.Drain(ctx) }

// A Job is what is left to do for a message after [Connection.Accept]. It can be
// used again for another message.
type Job struct {
	connection *Connection
	message    jsonrpc.Message
	ctx        context.Context
	session    *Session // nil for a modern request
	batch      []byte
	reply      []byte
}

// Accept takes one message, or one batch, in the order in which they came: it
// does at once what later messages rely on (the handshake, the log level,
// cancellation, answers to questions) and leaves the rest to [Job.Run]. It
// reports whether there is anything left. data must not be changed any more.
func (c *Connection) Accept(j *Job, data []byte) bool {
	*j = Job{connection: c}
	if jsonrpc.IsBatch(data) {
		j.batch = data
		return true
	}
	var fault *jsonrpc.Error
	if j.message, fault = jsonrpc.Parse(data, jsonrpc.Limits{}); fault != nil {
		j.reply = jsonrpc.AppendError(nil, j.message.ID, fault)
		return true
	}
	return c.accept(j)
}

func (c *Connection) accept(j *Job) bool {
	m := &j.message
	switch m.Kind {
	case jsonrpc.Notification:
		c.notification(m)
		return false
	case jsonrpc.Response:
		if s := c.current(); s != nil {
			s.Answer(m)
		}
		return false
	}
	var fault *jsonrpc.Error
	if j.ctx, fault = c.inFlight.Begin(c.ctx, m, c.edge.options.InFlight); fault != nil {
		j.reply = jsonrpc.AppendError(nil, m.ID, fault)
		return true
	}
	if !IsModern(m) {
		c.acceptLegacy(j)
	}
	if j.reply != nil {
		c.inFlight.End(m)
	}
	return true
}

// acceptLegacy finds the session of a request without modern metadata, and
// answers those that change it.
func (c *Connection) acceptLegacy(j *Job) {
	m := &j.message
	j.session = c.current()
	switch {
	case j.session == nil && m.Method == methodInitialize:
		j.reply = c.initialize(j.ctx, m)
	case j.session != nil && m.Method == methodSetLevel:
		j.reply = j.session.Request(j.ctx, nil, m, From{}).Message
	case j.session == nil && m.Method == methodPing:
		j.reply = jsonrpc.AppendResult(nil, m.ID, []byte(`{}`)) // allowed before the handshake
	}
}

// Run does what is left and returns what there is to answer, appended to dst:
// nil for nothing. It returns when the request's Handler has; jobs may run at
// the same time.
func (j *Job) Run(dst []byte) []byte {
	c := j.connection
	switch {
	case j.reply != nil:
		return append(dst, j.reply...)
	case j.batch != nil:
		return c.batch(dst, j.batch)
	}
	defer c.inFlight.End(&j.message)
	from := From{Principal: c.principal, Out: c.out}
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

func (c *Connection) initialize(ctx context.Context, m *jsonrpc.Message) []byte {
	s, reply := c.edge.Initialize(ctx, nil, m, From{Principal: c.principal})
	if s != nil {
		c.mu.Lock()
		c.session = s
		c.mu.Unlock()
	}
	return reply.Message
}

// notification acts on what the client tells.
func (c *Connection) notification(m *jsonrpc.Message) {
	switch m.Method {
	case notifyCancelled:
		c.inFlight.Cancelled(m)
	case notifyInitialized:
		c.listen()
	}
}

// listen starts the news of a legacy session, once.
func (c *Connection) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || c.ctx.Err() != nil {
		return
	}
	listen, err := c.session.OpenListen(c.ctx, c.out)
	if err != nil {
		c.edge.log.Debug("mcp: the client sent initialized twice")
		return
	}
	c.news.Go(func() { listen() })
}

// batch handles the messages of a batch side by side and joins their answers.
func (c *Connection) batch(dst, data []byte) []byte {
	s := c.current()
	if s == nil || !s.revision.Batches {
		name := revision.Latest().Name
		if s != nil {
			name = s.revision.Name
		}
		return jsonrpc.AppendError(dst, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s has no batches: send one message at a time", name))
	}
	return Batch(dst, data, c.edge.options.InFlight, func(m *jsonrpc.Message) []byte {
		if m.Method == methodInitialize {
			return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch"))
		}
		j := Job{connection: c, message: *m}
		if !c.accept(&j) {
			return nil
		}
		return j.Run(nil)
	})
}

// Batch handles the messages of a batch side by side and appends their answers
// as one array; nil if there is none. most is the largest batch accepted.
func Batch(dst, data []byte, most int, handle func(*jsonrpc.Message) []byte) []byte {
	elements, fault := jsonrpc.SplitBatch(data, most, jsonrpc.Limits{})
	if fault != nil {
		return jsonrpc.AppendError(dst, "", fault)
	}
	answers := make([][]byte, len(elements))
	var running sync.WaitGroup
	for i, element := range elements {
		running.Go(func() {
			m, fault := jsonrpc.Parse(element, jsonrpc.Limits{})
			if fault != nil {
				answers[i] = jsonrpc.AppendError(nil, m.ID, fault)
				return
			}
			answers[i] = handle(&m)
		})
	}
	running.Wait()
	out, any := append(dst, '['), false
	for _, answer := range answers {
		if answer == nil {
			continue
		}
		if any {
			out = append(out, ',')
		}
		out, any = append(out, answer...), true
	}
	if !any {
		return nil
	}
	return append(out, ']')
}
