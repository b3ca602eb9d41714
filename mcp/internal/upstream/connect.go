package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Connect reaches a server by a link that dial makes, and finds out which era it
// speaks (2026-07-28 basic/transports/stdio and streamable-http, backward
// compatibility): a modern request first; the response says, or else the
// handshake does. dial may be called twice, as some servers end at a request
// that they do not know.
func Connect(ctx context.Context, dial func(context.Context) (link.Link, error), o mcp.ConnectOptions) (mcp.Conn, error) {
	limit := orDefault(o.ConnectTimeout, connectTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not connected within %v: %w", limit, context.DeadlineExceeded))
	defer cancel()
	c, err := open(ctx, dial, o)
	if err != nil {
		return nil, err
	}
	s, timedOut, err := c.probe(ctx)
	switch {
	case err != nil:
		c.Close()
		return nil, err
	case s != nil:
		c.session.Store(s)
		return c, nil
	}
	if c.link.Err() != nil {
		c.Close()
		if c, err = open(ctx, dial, o); err != nil {
			return nil, err
		}
	}
	err = newLegacy(c).handshake(ctx)
	if err == nil {
		return c, nil
	}
	if timedOut && o.Revision == "" && refusedByServer(err) {
		// It slept through the first request, perhaps because it was still starting.
		if s, _, again := c.probe(ctx); again == nil && s != nil {
			c.session.Store(s)
			return c, nil
		}
	}
	c.Close()
	older, ok := c.link.(link.Fallback)
	if !ok || !mayBeOlder(err) {
		return nil, err
	}
	return connectOlder(ctx, older, err, o)
}

func open(ctx context.Context, dial func(context.Context) (link.Link, error), o mcp.ConnectOptions) (*conn, error) {
	l, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", o.Name, err)
	}
	c := newConn(watched(l, o.Wire), o)
	if !l.ClosingCancels() { // one channel for everything: read it from the start
		c.receiveAll(c.ctx, func(err error) {
			if c.ctx.Err() == nil {
				c.log.Debug("mcp: no more messages from the server", "server", o.Name, "error", err)
			}
		})
	}
	return c, nil
}

// refusedByServer reports whether the server answered with a protocol error.
func refusedByServer(err error) bool {
	var fault *jsonrpc.Error
	var status *mcp.StatusError
	if errors.As(err, &status) {
		fault = statusFault(status)
	} else if !errors.As(err, &fault) {
		return false
	}
	return fault != nil
}

// connectOlder tries the transport before Streamable HTTP at the same URL.
func connectOlder(ctx context.Context, f link.Fallback, first error, o mcp.ConnectOptions) (mcp.Conn, error) {
	c, err := open(ctx, f.Older, o)
	if err != nil {
		return nil, fmt.Errorf("%w; and not HTTP+SSE either: %w", first, errors.Unwrap(err)) // which names the server, too
	}
	if err := newLegacy(c).handshake(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// mayBeOlder reports whether a failed handshake looks like a server that knows
// HTTP+SSE only.
func mayBeOlder(err error) bool {
	var status *mcp.StatusError
	return errors.As(err, &status) && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
}

// errNoResponse is why a probe ends that the server did not respond to.
var errNoResponse = errors.New("no response to server/discover")

// probe asks server/discover. It returns nil where the server is not modern, and
// whether it did not respond at all; the error says that it cannot be used.
func (c *conn) probe(ctx context.Context) (s *session, timedOut bool, err error) {
	o := c.options
	if r := revision.Lookup(o.Revision); o.Revision != "" && (r == nil || !r.Modern) {
		if r == nil {
			err = fmt.Errorf("revision %q is unknown; known are %v", o.Revision, append(revision.Modern(), revision.Legacy()...))
		}
		return nil, false, err
	}
	r := revision.Latest()
	for range 3 {
		m, err := c.discover(ctx, r)
		fault := faultOf(m, err)
		switch {
		case err == nil && fault == nil:
			return c.discovered(r, m), false, nil
		case fault != nil && revision.IsModern(fault):
			if r, err = c.choose(fault); err != nil || r == nil {
				return nil, false, err
			}
			continue
		case ctx.Err() != nil:
			return nil, false, fmt.Errorf("server %q: %w", o.Name, context.Cause(ctx))
		case isStatus(err, http.StatusUnauthorized, http.StatusForbidden):
			return nil, false, fmt.Errorf("server %q: %w", o.Name, err)
		}
		if o.Revision != "" {
			if err = errors.Join(err, asError(fault)); fault == nil && !errors.Is(err, errNoResponse) && !isRefusal(err) {
				return nil, false, fmt.Errorf("server %q: server/discover: %w", o.Name, err)
			}
			return nil, false, &mcp.RevisionError{Server: o.Name, Revision: o.Revision, Err: err} // legacy servers have all kinds of errors, or none
		}
		return nil, errors.Is(err, errNoResponse), nil
	}
	return nil, false, fmt.Errorf("server %q: server/discover was refused three times", o.Name)
}

// faultOf is the protocol error in a response, or in the body of an HTTP status.
func faultOf(m *jsonrpc.Message, err error) *jsonrpc.Error {
	var status *mcp.StatusError
	switch {
	case err == nil:
		return m.Error
	case errors.As(err, &status):
		return statusFault(status)
	}
	return nil
}

// statusFault is the protocol error in the body of an HTTP status; nil if there was none.
func statusFault(e *mcp.StatusError) *jsonrpc.Error {
	if e.Fault == nil {
		return nil
	}
	return &jsonrpc.Error{Code: e.Fault.Code, Message: e.Fault.Message, Data: e.Fault.Data}
}

func asError(e *jsonrpc.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func isStatus(err error, codes ...int) bool {
	var status *mcp.StatusError
	if !errors.As(err, &status) {
		return false
	}
	for _, code := range codes {
		if status.Status == code {
			return true
		}
	}
	return false
}

// choose takes another modern revision that the server offers; nil where it
// offers legacy ones only.
func (c *conn) choose(e *jsonrpc.Error) (*revision.Revision, error) {
	if e.Code != revision.CodeUnsupportedRevision {
		return nil, fmt.Errorf("server %q: server/discover: %w", c.options.Name, e)
	}
	offered := revision.Offered(e)
	if r := revision.CommonModern(offered); r != nil {
		return r, nil // perhaps the same: what was refused may be taken the next time
	}
	for _, name := range offered {
		if r := revision.Lookup(name); r != nil && !r.Modern {
			return nil, nil
		}
	}
	err := fmt.Errorf("server %q speaks %v, and Junction %v", c.options.Name, offered, append(revision.Modern(), revision.Legacy()...))
	if c.options.Revision != "" {
		err = &mcp.RevisionError{Server: c.options.Name, Revision: c.options.Revision, Err: err}
	}
	return nil, err
}

// discover asks the server what it is, and gives it a moment to respond.
func (c *conn) discover(ctx context.Context, r *revision.Revision) (*jsonrpc.Message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, orDefault(c.options.ProbeTimeout, probeTime), errNoResponse)
	defer cancel()
	s := &session{revision: r}
	req := &mcp.Request{Method: methodDiscover, Meta: c.options.Meta, Peer: noPeer{}}
	k, err := c.addCallWithin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer c.finishCall(k)
	return c.link.Call(k.ctx, newModern(c).out(s, k.id, req, nil, nil), func(m *jsonrpc.Message) { c.receive(k, m) })
}

// discovered makes a session of what the server said of itself; nil if that is
// no discovery.
func (c *conn) discovered(r *revision.Revision, m *jsonrpc.Message) *session {
	s := &session{revision: r, era: newModern(c)}
	result, err := c.result(s, &mcp.Request{Method: methodDiscover}, m)
	if err != nil {
		return nil
	}
	var d mcp.DiscoverResult
	if err := schema.DecodeLoose(result.JSON, &d); err != nil || d.SupportedVersions == nil {
		return nil
	}
	if common := revision.CommonModern(d.SupportedVersions); common != nil {
		s.revision = common
	} else if len(d.SupportedVersions) > 0 {
		return nil
	}
	s.discover, s.capabilities = result, d.Capabilities
	return s
}

// handshake begins a legacy session and makes it the connection's.
func (e *legacy) handshake(ctx context.Context) error {
	o := e.options
	r := revision.LatestLegacy()
	if o.Revision != "" {
		if r = revision.Lookup(o.Revision); r == nil || r.Modern {
			return &mcp.RevisionError{Server: o.Name, Revision: o.Revision}
		}
	}
	id := jsonrpc.IntID(e.ids.Add(1))
	params, err := e.initializeParams(r)
	if err != nil {
		return err
	}
	e.closeStream()
	out := link.Out{ID: id, Method: methodInitialize, Message: jsonrpc.AppendRequest(nil, id, methodInitialize, params)}
	m, err := e.link.Call(ctx, out, func(m *jsonrpc.Message) { e.receiveIn(nil, nil, m) }) // there is no session yet
	if err == nil {
		err = asError(m.Error)
	}
	if err != nil {
		if o.Revision != "" && isRefusal(err) {
			return &mcp.RevisionError{Server: o.Name, Revision: o.Revision, Err: fmt.Errorf("initialize: %w", err)}
		}
		return fmt.Errorf("server %q: initialize: %w", o.Name, err)
	}
	s, err := e.initialized(m)
	if err != nil {
		return err
	}
	s.id = id
	e.session.Store(s)
	e.withdrawOthers(s)
	e.send(notificationInitialized, nil)
	if e.link.ClosingCancels() {
		e.openStream(ctx, s)
	}
	return nil
}

func (e *legacy) initializeParams(r *revision.Revision) ([]byte, error) {
	w := jsonrpc.NewObject(nil)
	w.String("protocolVersion", r.Name)
	meta := &e.options.Meta
	if err := schema.EncodeMember(&w, "capabilities", orNoCapabilities(meta.Capabilities)); err != nil {
		return nil, fmt.Errorf("server %q: initialize: capabilities: %w", e.options.Name, err)
	}
	if err := schema.EncodeMember(&w, "clientInfo", meta.Client); err != nil {
		return nil, fmt.Errorf("server %q: initialize: clientInfo: %w", e.options.Name, err)
	}
	return w.Bytes(), nil
}

// initialized makes a session of what the server said of itself in the handshake.
func (e *legacy) initialized(m *jsonrpc.Message) (*session, error) {
	version, ok := jsonrpc.Unquote(m.Members.Get("protocolVersion"))
	r := revision.Lookup(version)
	if !ok || r == nil || r.Modern {
		return nil, fmt.Errorf("server %q: initialize: expected one of the protocol versions %v, got %.40s", e.options.Name, revision.Legacy(), m.Members.Get("protocolVersion"))
	}
	body, meta := revision.Discovery(m.Result)
	s := &session{era: e, revision: r, discover: mcp.Result{JSON: body, Meta: meta}}
	var d mcp.DiscoverResult
	if err := schema.DecodeLoose(body, &d); err != nil {
		e.log.Debug("mcp: the server's capabilities cannot be read", "server", e.options.Name, "error", err,
			mcp.LogBreach, "capabilities have the types of schema.ts (basic/lifecycle)")
	}
	s.capabilities = d.Capabilities
	s.hasTasks = r.Tasks && revision.HasTasks(jsonrpc.Get(body, "capabilities"))
	return s, nil
}

// openStream opens the session's own stream and gives the server a moment to
// respond: what some servers send while it is not open yet, such as a request in
// the first call, is lost.
func (e *legacy) openStream(ctx context.Context, s *session) {
	streamCtx, cancel := context.WithCancelCause(e.ctx)
	ended := make(chan struct{})
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	trace := &httptrace.ClientTrace{GotFirstResponseByte: open}
	e.stream = &sessionStream{cancel, ended}
	runs := e.receiveAll(httptrace.WithClientTrace(streamCtx, trace), func(err error) {
		open()
		close(ended)
		e.streamEnded(streamCtx, s, err)
	})
	if !runs {
		close(ended)
		return
	}
	moment := time.NewTimer(streamTime)
	defer moment.Stop()
	select {
	case <-opened:
	case <-moment.C: // it may send no headers before its first message
	case <-ctx.Done():
	}
}

// A sessionStream is the stream that a legacy server on HTTP sends messages of
// its own on. The handshake, of which one runs at a time, owns it.
type sessionStream struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// closeStream ends the stream of the session before.
func (e *legacy) closeStream() {
	if e.stream != nil {
		e.stream.cancel(errReplaced)
		<-e.stream.ended
		e.stream = nil
	}
}

var errReplaced = errors.New("a new session replaced it")

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func orNoCapabilities(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if c == nil {
		return &mcp.ClientCapabilities{}
	}
	return c
}
