package edge

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// defaultLevel is the least severe level of log messages for a session that
// never set one; the specification leaves it to the server (server/utilities/logging).
const defaultLevel = mcp.LogInfo

// A Session is one legacy client, from its handshake on. It holds no goroutine
// and little memory; notifications reach it only while [Session.Listen] runs.
type Session struct {
	edge      *Edge
	revision  *revision.Revision
	principal *mcp.Principal
	held      Budget       // description and subscriptions
	meta      mcp.Meta     // stamped on every request
	has       capabilities // which notifications the server has
	requests  serverRequests
	values    mcp.Session // what the Handler keeps here
	tasks     legacyTasks

	mu        sync.Mutex
	level     mcp.LogLevel
	mark      string            // changes of lists up to here were sent
	resources map[string]string // those subscribed to, and the same mark of each; empty if unknown
	stream    *sessionStream    // of the running Listen, if any
}

// capabilities are the parts of a server's that decide what to listen for.
type capabilities struct {
	Tools, Prompts struct {
		ListChanged bool `json:"listChanged"`
	}
	Resources struct {
		ListChanged bool `json:"listChanged"`
		Subscribe   bool `json:"subscribe"`
	}
	Extensions map[string]json.RawMessage `json:"extensions"`
}

func (c *capabilities) tasks() bool { return c.Extensions[revision.TasksExtension] != nil }

// Initialize answers a client's initialize and returns the session that begins
// with it; nil if the reply is an error. from.Out is not used.
func (e *Edge) Initialize(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) (*Session, Reply) {
	version, ok := jsonrpc.Unquote(m.Members.Get("protocolVersion"))
	if !ok {
		return nil, refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize: protocolVersion: expected a string, got %.40s; supported: %v", m.Members.Get("protocolVersion"), revision.Legacy()))
	}
	r := revision.Negotiate(version)
	l := e.lineOf(&mcp.Meta{Revision: r.Name})
	ctx = l.takes(ctx, m.Raw(), from.Carrier)
	s, reply := e.begin(ctx, dst, m, from, r)
	if s != nil {
		l = s.line()
	}
	return s, l.reply(ctx, dst, reply)
}

// begin begins a session of the revision.
func (e *Edge) begin(ctx context.Context, dst []byte, m *jsonrpc.Message, from From, r *revision.Revision) (*Session, Reply) {
	s := &Session{edge: e, revision: r, principal: from.Principal, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
	s.held.most, s.held.whole = maxSessionHeld, e.sessions
	if fault := s.describe(m); fault != nil {
		return nil, refuse(dst, m.ID, fault)
	}
	handshake, err := s.discover(ctx, from.Sessionless)
	if err != nil {
		s.Close()
		fault := wireError(r, methodInitialize, err)
		return nil, Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	return s, Reply{Message: jsonrpc.AppendResult(dst, m.ID, handshake)}
}

// describe remembers what the client says of itself.
func (s *Session) describe(m *jsonrpc.Message) (fault *jsonrpc.Error) {
	capabilities, info := m.Members.Get("capabilities"), m.Members.Get("clientInfo")
	if len(capabilities) > 0 && capabilities[0] == '{' {
		if s.meta.Capabilities, fault = s.edge.capabilitiesOf("initialize: capabilities", capabilities); fault != nil {
			return fault
		}
		s.meta.Capabilities = task.Undeclare(s.meta.Capabilities) // there are no results of another type here
	}
	if s.meta.Client, fault = s.edge.infoOf("initialize: clientInfo", info); fault != nil {
		return fault
	}
	if !s.held.Admit(max(0, len(capabilities)+len(info)-freeHeld)) {
		return jsonrpc.Errorf(jsonrpc.InternalError, "initialize: the open sessions exceed the memory limit; try again later, or with shorter capabilities and clientInfo")
	}
	return nil
}

// discover asks the Handler what it is, and returns the result of initialize.
func (s *Session) discover(ctx context.Context, sessionless bool) (handshake []byte, err error) {
	req := &mcp.Request{Method: methodDiscover, Meta: s.meta, Caller: s, Principal: s.principal, Peer: noPeer{}}
	result, err := s.edge.handler.Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	discovered, err := s.edge.encode(methodDiscover, &result)
	if err != nil {
		return nil, err
	}
	if sessionless { // a task of this era is one of a session
		discovered = revision.WithoutTasks(discovered)
	}
	if raw := jsonrpc.Get(discovered, "capabilities"); raw != nil {
		json.Unmarshal(raw, &s.has) // what cannot be read is not listened for
	}
	s.mark, _ = jsonrpc.Unquote(jsonrpc.Get(result.Meta, mcp.ChangesKey))
	return revision.Handshake(s.revision, discovered, result.Meta), nil
}

// Close forgets what the session holds of its client's. It must be called when
// the session is over; what still runs of it goes on.
func (s *Session) Close() { s.held.Close() }

// Sessionless returns a session for one legacy request that came without a
// handshake, from a client that can be asked nothing.
func (e *Edge) Sessionless(r *revision.Revision) *Session {
	s := &Session{edge: e, revision: r, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
	s.held.most = maxSessionHeld
	return s
}

var noCapabilities = &mcp.ClientCapabilities{}

// Revision is the revision that the handshake agreed on.
func (s *Session) Revision() *revision.Revision { return s.revision }

// Request answers one request of the session. ctx ends when the client cancels
// it or the session ends, not when a connection is lost. The reply is appended
// to dst.
func (s *Session) Request(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	l := s.line()
	ctx = l.takes(ctx, m.Raw(), from.Carrier)
	return l.reply(ctx, dst, s.respond(ctx, dst, m, from))
}

// respond makes the response to a request.
func (s *Session) respond(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	switch m.Method {
	case methodPing:
		return Reply{Message: jsonrpc.AppendResult(dst, m.ID, []byte(`{}`))}
	case methodInitialize:
		return refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: this session was initialized already"))
	case methodSetLevel:
		return s.acknowledge(dst, m, s.setLevel(m))
	case methodSubscribe:
		return s.acknowledge(dst, m, s.subscribe(ctx, m))
	case methodUnsubscribe:
		return s.acknowledge(dst, m, s.unsubscribe(m))
	case methodDiscover, methodListen:
		return refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "method %q does not exist in %s", m.Method, s.revision.Name))
	}
	return s.call(ctx, dst, m, from)
}

func (s *Session) acknowledge(dst []byte, m *jsonrpc.Message, fault *jsonrpc.Error) Reply {
	if fault != nil {
		fault = s.revision.Error(m.Method, fault)
		return Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	return Reply{Message: jsonrpc.AppendResult(dst, m.ID, []byte(`{}`))}
}

// call hands a request to the Handler.
func (s *Session) call(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	meta := s.meta
	s.mu.Lock()
	meta.LogLevel = s.level
	s.mu.Unlock()
	if raw := m.Members.Get("_meta"); len(raw) > 0 && raw[0] == '{' {
		members, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
		if fault == nil {
			fault = requestMeta(&meta, &members)
		}
		if fault != nil {
			return refuse(dst, m.ID, fault)
		}
	}
	from.Caller = s
	c := &sessionCall{session: s, outlet: outlet{out: from.Out, line: s.line()}}
	setRequest(&c.req, m, &meta, &from)
	c.req.Peer, c.req.Session = c, &s.values
	result, err := s.answer(ctx, c, m)
	c.outlet.close()
	if errors.Is(context.Cause(ctx), ErrCancelled) {
		return Reply{} // nothing may be sent for it any more
	}
	if err == nil && result.Type != "" && result.Type != "complete" {
		err = mcp.Errorf(mcp.CodeInternalError, "%s answered with result type %q, which %s has no form for", m.Method, result.Type, s.revision.Name)
	}
	if err == nil {
		return s.edge.appendReply(dst, s.revision, m.ID, revision.ResultOf(m.Method), &result)
	}
	return failed(dst, s.revision, m.ID, m.Method, err)
}

// answer asks the Handler.
func (s *Session) answer(ctx context.Context, c *sessionCall, m *jsonrpc.Message) (mcp.Result, error) {
	switch {
	case s.wantsTask(m):
		c.req.Meta.Capabilities = task.Declare(c.req.Meta.Capabilities)
		result, err := s.edge.handler.Handle(ctx, c.req.WithParams(jsonrpc.Without(m.Params, "task")))
		if err != nil {
			return result, err
		}
		return s.asTask(&result)
	case s.revision.Tasks && s.has.tasks() && m.Method == methodTasksList:
		return c.listTasks(ctx)
	case s.revision.Tasks && s.has.tasks() && (m.Method == "tasks/get" || m.Method == "tasks/result" || m.Method == "tasks/cancel"):
		return c.aboutTask(ctx)
	}
	return s.edge.handler.Handle(ctx, &c.req)
}

func (s *Session) setLevel(m *jsonrpc.Message) *jsonrpc.Error {
	text, _ := jsonrpc.Unquote(m.Members.Get("level"))
	level := mcp.LogLevel(text)
	if level.Severity() == 0 {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "level: expected a level from debug to emergency, got %.40s", m.Members.Get("level"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
	return nil
}

// A sessionCall is one running request of a legacy client, and its Peer.
type sessionCall struct {
	session  *Session
	outlet   outlet
	req      mcp.Request
	progress progress // in the outlet's order
}

// Notify sends a notification on the request's own stream.
func (c *sessionCall) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.outlet.notify(ctx, func() []byte { return outgoing(method, params, &c.req.Meta, &c.progress) })
}

// Ask sends the request to the client and waits for the response.
func (c *sessionCall) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if err := c.req.Meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	return c.session.requests.ask(ctx, c.session, c, c.send, q)
}

func (c *sessionCall) send(ctx context.Context, message []byte) error {
	return c.outlet.send(ctx, func() []byte { return message })
}

// Disconnect closes the connection where the transport can resume; see [mcp.Disconnect].
func (c *sessionCall) Disconnect() { c.outlet.disconnect() }

// noPeer is the Peer of a request that the edge makes on its own.
type noPeer struct{}

func (noPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

func (noPeer) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "%s: there is nobody to ask", q.Method)
}
