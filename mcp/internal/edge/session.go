package edge

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// defaultLevel is the least severe level of log messages for a session that
// never set one; the specification leaves it to the server (server/utilities/logging).
const defaultLevel = mcp.LogInfo

// A Session is one legacy client, from its handshake on. It holds no goroutine
// and little memory; news reach it only while [Session.Listen] runs.
type Session struct {
	edge      *Edge
	revision  *revision.Revision
	meta      mcp.Meta     // stamped on every request
	has       capabilities // what of the server's has news
	questions questions

	mu        sync.Mutex
	level     mcp.LogLevel
	resources map[string]struct{} // subscribed
	version   int                 // counts the changes of resources
	changes   string              // how far the news have been told
	listening *listening          // the running Listen, if any
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
}

// Initialize answers a client's initialize and returns the session that begins
// with it; nil if the reply is an error. from.Out is not used.
func (e *Edge) Initialize(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) (*Session, Reply) {
	version, ok := jsonrpc.Unquote(m.Members.Get("protocolVersion"))
	if !ok {
		return nil, refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize: protocolVersion: expected a string, got %.40s; supported: %v", m.Members.Get("protocolVersion"), revision.Legacy()))
	}
	r := revision.Negotiate(version)
	s := &Session{edge: e, revision: r, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
	if raw := m.Members.Get("capabilities"); len(raw) > 0 && raw[0] == '{' {
		c, err := e.clients.capabilitiesOf(raw)
		if err != nil {
			return nil, refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize: capabilities: %v", err))
		}
		s.meta.Capabilities = c
	}
	s.meta.Client = e.clients.infoOf(m.Members.Get("clientInfo"))

	discover := &mcp.Request{Method: methodDiscover, Meta: s.meta, Principal: from.Principal, Peer: silent{}}
	result, err := e.handler.Handle(ctx, discover)
	if err != nil {
		fault := wireError(r, methodInitialize, err)
		return nil, Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	discovered, err := result.Encoded()
	if err != nil {
		fault := wireError(r, methodInitialize, err)
		return nil, Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	if raw := jsonrpc.Get(discovered, "capabilities"); raw != nil {
		json.Unmarshal(raw, &s.has) // what cannot be read is not listened for
	}
	s.changes, _ = jsonrpc.Unquote(jsonrpc.Get(result.Meta, mcp.ChangesKey))
	return s, Reply{Message: jsonrpc.AppendResult(dst, m.ID, revision.Handshake(r, discovered, result.Meta))}
}

// Sessionless returns a session for one legacy request that came without a
// handshake, from a client that can be asked nothing.
func (e *Edge) Sessionless(r *revision.Revision) *Session {
	return &Session{edge: e, revision: r, level: defaultLevel, meta: mcp.Meta{Revision: r.Name, Capabilities: noCapabilities}}
}

var noCapabilities = &mcp.ClientCapabilities{}

// Revision is the revision that the handshake agreed on.
func (s *Session) Revision() *revision.Revision { return s.revision }

// Request answers one request of the session. ctx ends when the client cancels
// it or the session ends, not when a connection is lost. The reply is appended
// to dst.
func (s *Session) Request(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	switch m.Method {
	case methodPing:
		return Reply{Message: jsonrpc.AppendResult(dst, m.ID, []byte(`{}`))}
	case methodInitialize:
		return refuse(dst, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: this session was initialized already"))
	case methodSetLevel:
		return s.acknowledge(dst, m, s.setLevel(m))
	case methodSubscribe:
		return s.acknowledge(dst, m, s.subscribe(ctx, m, true))
	case methodUnsubscribe:
		return s.acknowledge(dst, m, s.subscribe(ctx, m, false))
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
	c := &legacyCall{session: s, out: from.Out, req: newRequest(m, meta, from)}
	c.req.Peer = c
	result, err := s.edge.handler.Handle(ctx, &c.req)
	c.close()
	if errors.Is(context.Cause(ctx), ErrCancelled) {
		return Reply{} // nothing may be sent for it any more
	}
	if err == nil && result.Type != "" && result.Type != "complete" {
		err = mcp.Errorf(mcp.CodeInternalError, "%s answered with result type %q, which %s has no form for", m.Method, result.Type, s.revision.Name)
	}
	if err == nil {
		return s.edge.appendReply(dst, s.revision, m.ID, m.Method, &result)
	}
	fault := wireError(s.revision, m.Method, err)
	return Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
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

// A legacyCall is one running request of a legacy client, and its Peer.
type legacyCall struct {
	session *Session
	out     Sender
	req     mcp.Request

	mu       sync.Mutex // guards what follows, and orders what is sent
	closed   bool
	progress progress
}

func (c *legacyCall) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// Notify sends a notification on the request's own stream.
func (c *legacyCall) Notify(ctx context.Context, method string, params json.RawMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	params, wanted := outgoing(method, params, &c.req.Meta, &c.progress)
	if !wanted {
		return nil
	}
	return c.out.Send(ctx, jsonrpc.AppendNotification(nil, method, params))
}

// Ask sends the question to the client and waits for the answer.
func (c *legacyCall) Ask(ctx context.Context, q mcp.Question) (json.RawMessage, error) {
	if err := c.req.Meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	return c.session.questions.ask(ctx, c.session, c.send, q)
}

func (c *legacyCall) send(ctx context.Context, message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("the request is over")
	}
	return c.out.Send(ctx, message)
}

// Disconnect lets a transport that can resume hang up; see [mcp.Disconnect].
func (c *legacyCall) Disconnect() {
	if d, ok := c.out.(interface{ Disconnect() }); ok {
		d.Disconnect()
	}
}

// silent is the Peer of a request that the edge makes on its own.
type silent struct{}

func (silent) Notify(context.Context, string, json.RawMessage) error { return nil }

func (silent) Ask(_ context.Context, q mcp.Question) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "%s: there is nobody to ask", q.Method)
}
