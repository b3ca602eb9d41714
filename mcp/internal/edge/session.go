package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// defaultLevel is the minimum severity of log messages for a session that never set one. The
// specification lets the server choose it (server/utilities/logging).
const defaultLevel = mcp.LogInfo

// A Session is one legacy client, from its handshake on. It has no goroutine and needs little
// memory. The client gets notifications only while [Session.Listen] runs.
type Session struct {
	edge      *Edge
	revision  *revision.Revision
	key       any                           // see client; nil for the session itself
	principal atomic.Pointer[mcp.Principal] // principal of the newest request; nil without authentication
	held      Budget                        // description and subscriptions
	meta      mcp.Meta                      // copied into every request
	has       mcp.ServerCapabilities        // decides which notifications the server sends
	requests  serverRequests
	values    mcp.Session // state that the Handler stored
	tasks     legacyTasks

	mu        sync.Mutex
	level     mcp.LogLevel
	mark      string            // changes of lists up to this mark were sent
	resources map[string]string // mark of each subscribed resource; empty if unknown
	stream    *sessionStream    // stream of the running Listen, or nil
}

func (s *Session) hasTasks() bool {
	return s.revision.Tasks && s.has.Extensions[revision.TasksExtension] != nil
}

// Initialize handles a client's initialize. It returns the new session, or nil if the reply is an
// error. It does not use from.Out.
func (e *Edge) Initialize(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) (*Session, Reply) {
	version, ok := jsonrpc.Unquote(m.Members.Get("protocolVersion"))
	if !ok {
		return nil, refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize: protocolVersion: expected a string, got %.40s; supported: %v", m.Members.Get("protocolVersion"), revision.Legacy()))
	}
	r := revision.Negotiate(version)
	l := e.lineOf(&mcp.Meta{Revision: r.Name})
	ctx = l.takes(ctx, m, from.Carrier)
	s, reply := e.begin(ctx, dst, m, from, r)
	if s != nil {
		l = s.line()
	}
	return s, l.reply(ctx, dst, reply)
}

// begin begins a session of revision r.
func (e *Edge) begin(ctx context.Context, dst []byte, m *jsonrpc.Message, from From, r *revision.Revision) (*Session, Reply) {
	s := &Session{edge: e, revision: r, key: from.Key, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
	s.principal.Store(from.Principal)
	s.values.SendWith(s.notify)
	s.held.most, s.held.whole, s.held.caller = maxSessionHeld, e.sessions, share.Of(ctx)
	if fault := s.describe(m); fault != nil {
		return nil, refuse(dst, m.ID, fault)
	}
	handshake, err := s.discover(ctx, from.NoTasks)
	if err != nil {
		s.Close()
		fault := wireError(r, methodInitialize, err)
		return nil, Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	return s, Reply{Message: jsonrpc.AppendResult(dst, m.ID, handshake)}
}

// describe stores the client's capabilities and information.
func (s *Session) describe(m *jsonrpc.Message) (fault *jsonrpc.Error) {
	capabilities, info := m.Members.Get("capabilities"), m.Members.Get("clientInfo")
	if len(capabilities) > 0 && capabilities[0] == '{' {
		if s.meta.Capabilities, fault = s.edge.capabilitiesOf("initialize: capabilities", capabilities); fault != nil {
			return fault
		}
		s.meta.Capabilities = task.Undeclare(s.meta.Capabilities) // this era has no results of another type
	}
	if s.meta.Client, fault = s.edge.infoOf("initialize: clientInfo", info); fault != nil {
		return fault
	}
	if !s.held.Admit(max(0, len(capabilities)+len(info)-freeHeld)) {
		return jsonrpc.Errorf(jsonrpc.InternalError, "initialize: the open sessions exceed the memory limit; try again later, or with shorter capabilities and clientInfo")
	}
	return nil
}

// discover sends server/discover to the Handler, and returns the result of initialize.
func (s *Session) discover(ctx context.Context, noTasks bool) (handshake []byte, err error) {
	req := &mcp.Request{Method: methodInitialize, Meta: s.meta, Caller: s.client(), Principal: s.principal.Load(), Peer: mcp.NoPeer{}}
	result, err := s.edge.around(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		asked := *req
		asked.Method = methodDiscover
		return s.edge.inner.Handle(ctx, &asked)
	})).Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	discovered, err := s.edge.encode(methodDiscover, &result)
	if err != nil {
		return nil, err
	}
	if noTasks {
		discovered = revision.WithoutTasks(discovered)
	}
	if raw := jsonrpc.Get(discovered, "capabilities"); raw != nil {
		json.Unmarshal(raw, &s.has) // malformed capabilities mean no subscription
	}
	s.mark, _ = jsonrpc.Unquote(jsonrpc.Get(result.Meta, mcp.ChangesKey))
	return revision.Handshake(s.revision, discovered, result.Meta), nil
}

// Close releases the session's memory and ends the state that the Handler stored. It must be called
// when the session is over. Running requests continue.
func (s *Session) Close() {
	s.held.Close()
	s.values.End()
}

// Sessionless returns a session for one legacy request without a handshake. The client of that
// request cannot be sent requests. The caller must close the session.
func (e *Edge) Sessionless(r *revision.Revision) *Session {
	s := &Session{edge: e, revision: r, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
	s.held.most = maxSessionHeld
	return s
}

var noCapabilities = &mcp.ClientCapabilities{}

// Revision returns the revision that the handshake agreed on.
func (s *Session) Revision() *revision.Revision { return s.revision }

// Request handles one request of the session, and appends the reply to dst. The context must end
// when the client cancels the request or the session ends, and not when a connection is lost.
func (s *Session) Request(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	l := s.line()
	ctx = l.takes(ctx, m, from.Carrier)
	return l.reply(ctx, dst, s.respond(ctx, dst, m, from))
}

// respond returns the reply to a request.
func (s *Session) respond(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	if from.Principal != nil { // subscriptions continue with the newest permissions of the client
		s.principal.Store(from.Principal)
	}
	switch m.Method {
	case methodPing:
		return s.acknowledge(ctx, dst, m, &from, func(context.Context, *jsonrpc.Message) *jsonrpc.Error { return nil })
	case methodInitialize:
		return refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: this session was initialized already"))
	case methodSetLevel:
		return s.acknowledge(ctx, dst, m, &from, func(_ context.Context, m *jsonrpc.Message) *jsonrpc.Error { return s.setLevel(m) })
	case methodSubscribe:
		return s.acknowledge(ctx, dst, m, &from, s.subscribe)
	case methodUnsubscribe:
		return s.acknowledge(ctx, dst, m, &from, func(_ context.Context, m *jsonrpc.Message) *jsonrpc.Error {
			uri, fault := s.subscribable(m)
			if fault != nil {
				return fault
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.dropResource(uri)
			if s.stream != nil && s.stream.resources[uri] != nil {
				s.stream.resources[uri].cancel()
				delete(s.stream.resources, uri)
			}
			return nil
		})
	case methodDiscover, methodListen:
		return refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "method %q does not exist in %s", m.Method, s.revision.Name))
	}
	return s.call(ctx, dst, m, from)
}

// acknowledge handles a request that the edge itself responds to, wrapped in the middleware. The
// function do gets a copy of the message and may keep it. Without the copy, the messages of all
// other requests would be allocated on the heap.
func (s *Session) acknowledge(ctx context.Context, dst []byte, m *jsonrpc.Message, from *From, do func(context.Context, *jsonrpc.Message) *jsonrpc.Error) Reply {
	var fault *jsonrpc.Error
	kept := *m
	if len(s.edge.options.Middleware) == 0 {
		fault = do(ctx, &kept)
	} else {
		req := &mcp.Request{Peer: mcp.NoPeer{}}
		setRequest(req, m, &s.meta, from)
		req.Caller = s.client()
		_, err := s.edge.around(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
			if fault = do(ctx, &kept); fault != nil {
				return mcp.Result{}, mcp.Errorf(fault.Code, "%s", fault.Message)
			}
			return mcp.Result{}, nil
		})).Handle(ctx, req)
		if err != nil && fault == nil { // an error of the middleware
			return failed(dst, s.revision, m.ID, m.Method, err)
		}
	}
	if fault != nil {
		fault = s.revision.Error(m.Method, fault)
		return Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	return Reply{Message: jsonrpc.AppendResult(dst, m.ID, []byte(`{}`))}
}

// around wraps h in the middleware of the options.
func (e *Edge) around(h mcp.Handler) mcp.Handler {
	return guarded{e, mcp.Chain(h, e.options.Middleware...)}
}

// call passes a request to the Handler.
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
	from.Caller = s.client()
	c := &sessionCall{session: s, id: m.ID, way: from.Way, outlet: outlet{out: from.Out, line: s.line()}}
	setRequest(&c.req, m, &meta, &from)
	c.req.Peer, c.req.Session = c, &s.values
	result, err := s.answer(ctx, c, m)
	c.outlet.close()
	if errors.Is(context.Cause(ctx), ErrCancelled) {
		return Reply{} // no message may follow a cancellation
	}
	if err == nil && !result.IsComplete() {
		err = mcp.Errorf(mcp.CodeInternalError, "the result of %s has the type %q, which does not exist in %s", m.Method, result.Type, s.revision.Name)
	}
	if err == nil {
		return s.edge.appendReply(dst, s.revision, m.ID, revision.ResultOf(m.Method), &result)
	}
	return ended(ctx, dst, s.revision, m.ID, m.Method, err)
}

// answer passes the request to the Handler, or to the functions for tasks.
func (s *Session) answer(ctx context.Context, c *sessionCall, m *jsonrpc.Message) (mcp.Result, error) {
	if s.key != nil && s.hasTasks() && (s.wantsTask(m) || m.Method == methodTasksList) {
		ctx = task.WithSession(ctx, fmt.Sprintf("%x", s.key), m.Method != methodTasksList)
	}
	switch {
	case s.wantsTask(m):
		c.req.Meta.Capabilities = task.Declare(c.req.Meta.Capabilities)
		result, err := s.edge.handler.Handle(ctx, c.req.WithParams(jsonrpc.Without(m.Params, "task")))
		if err != nil {
			return result, err
		}
		return s.asTask(&result)
	case s.hasTasks() && m.Method == methodTasksList:
		return c.listTasks(ctx)
	case s.hasTasks() && (m.Method == "tasks/get" || m.Method == "tasks/result" || m.Method == "tasks/cancel"):
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
	id       jsonrpc.ID
	way      Way
	outlet   outlet
	req      mcp.Request
	progress progress // guarded by the outlet's turn
}

// TransportInfo implements the method that [mcp.TransportInfoOf] needs.
func (c *sessionCall) TransportInfo() mcp.TransportInfo { return transportInfo(c.way, c.id) }

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

// ReleaseStream closes the connection if the transport can resume; see [mcp.ReleaseStream].
func (c *sessionCall) ReleaseStream() { c.outlet.disconnect() }
