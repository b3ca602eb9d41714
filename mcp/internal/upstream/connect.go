package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Connect connects to a server over a link from dial, and finds out the server's era. It follows
// the specification's backward compatibility (2026-07-28 basic/transports/stdio and
// streamable-http). It sends a modern request first. If the response does not decide the era, it
// sends a handshake. LegacyFirst reverses the order. Connect may call dial twice, as some servers
// end when they get an unknown request.
func Connect(ctx context.Context, dial func(context.Context) (link.Link, error), o mcp.ConnectOptions) (mcp.Conn, error) {
	limit := cmp.Or(max(o.ConnectTimeout, 0), connectTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not connected within %v: %w", limit, context.DeadlineExceeded))
	defer cancel()
	c, err := open(ctx, dial, o)
	if err != nil {
		return nil, err
	}
	var refused error // error of the handshake before the modern request
	if o.LegacyFirst && o.Revision == "" {
		if refused = newLegacy(c).handshake(ctx); refused == nil {
			return c, nil
		}
		if ctx.Err() != nil || isStatus(refused, http.StatusUnauthorized, http.StatusForbidden) {
			c.Close()
			return nil, refused
		}
		if c, err = reopen(ctx, c, dial); err != nil {
			return nil, err
		}
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
	if err = refused; err == nil {
		if c, err = reopen(ctx, c, dial); err != nil {
			return nil, err
		}
		if err = newLegacy(c).handshake(ctx); err == nil {
			if timedOut && c.late != nil && c.late.isModern(ctx, c) {
				return modernAfterAll(ctx, c, dial)
			}
			return c, nil
		}
	}
	if timedOut && o.Revision == "" && refusedByServer(err) {
		// The first request got no response, perhaps because the server was still starting.
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

// modernAfterAll returns the connection to a server that responded to the handshake, and responded
// too late to the modern request. It continues to use a link with a single channel, in the era of
// the server's next response. Over HTTP, it replaces the connection by a new one that waits longer.
func modernAfterAll(ctx context.Context, c *conn, dial func(context.Context) (link.Link, error)) (mcp.Conn, error) {
	if !c.link.ClosingCancels() {
		if s, _, err := c.probe(ctx); err == nil && s != nil {
			c.session.Store(s)
		}
		return c, nil
	}
	c.Close()
	o := c.options
	o.ProbeTimeout = cmp.Or(max(o.ConnectTimeout, 0), connectTime)
	c, err := open(ctx, dial, o)
	if err != nil {
		return nil, err
	}
	s, _, err := c.probe(ctx)
	if s == nil && err == nil {
		if err = newLegacy(c).handshake(ctx); err == nil {
			return c, nil
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.session.Store(s)
	return c, nil
}

// reopen returns c, or a new connection if the link of c is broken.
func reopen(ctx context.Context, c *conn, dial func(context.Context) (link.Link, error)) (*conn, error) {
	if c.link.Err() == nil {
		return c, nil
	}
	c.Close()
	return open(ctx, dial, c.options)
}

func open(ctx context.Context, dial func(context.Context) (link.Link, error), o mcp.ConnectOptions) (*conn, error) {
	l, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", o.Name, err)
	}
	c := newConn(l, o)
	if !l.ClosingCancels() { // a single channel: it must be read from the start
		c.receiveAll(c.ctx, func(err error) {
			if c.ctx.Err() == nil {
				c.log.Debug("mcp: no more messages from the server", "server", o.Name, "error", err)
			}
		})
	}
	return c, nil
}

// refusedByServer reports whether err is a protocol error of the server.
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

// connectOlder tries the predecessor of Streamable HTTP at the same URL.
func connectOlder(ctx context.Context, f link.Fallback, first error, o mcp.ConnectOptions) (mcp.Conn, error) {
	c, err := open(ctx, f.Older, o)
	if err != nil {
		return nil, fmt.Errorf("%w; and not HTTP+SSE either: %w", first, errors.Unwrap(err)) // unwrapped, as it also names the server
	}
	if err := newLegacy(c).handshake(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// mayBeOlder reports whether the error of a handshake may come from a server that supports only
// HTTP+SSE.
func mayBeOlder(err error) bool {
	var status *mcp.StatusError
	return errors.As(err, &status) && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
}

// errNoResponse is the error of a probe that got no response.
var errNoResponse = errors.New("no response to server/discover")

// probe sends server/discover. It returns a nil session if the server is not modern, and reports
// whether there was no response at all. An error means that the server cannot be used.
func (c *conn) probe(ctx context.Context) (s *session, timedOut bool, err error) {
	o := c.options
	if r := revision.Lookup(o.Revision); o.Revision != "" && (r == nil || !r.Modern) {
		if r == nil {
			err = &mcp.RevisionError{Server: o.Name, Revision: o.Revision, Err: fmt.Errorf("this revision is unknown; known are %v", append(revision.Modern(), revision.Legacy()...))}
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
			cause := context.Cause(ctx)
			if stray, is := errors.AsType[*link.StrayError](err); is {
				cause = &link.StrayError{Err: cause, Line: stray.Line}
			}
			return nil, false, fmt.Errorf("server %q: %w", o.Name, cause)
		case isStatus(err, http.StatusUnauthorized, http.StatusForbidden):
			return nil, false, fmt.Errorf("server %q: %w", o.Name, err)
		}
		if o.Revision != "" {
			if errors.Is(err, errNoResponse) {
				return nil, false, fmt.Errorf("server %q: %w: %w", o.Name, err, context.DeadlineExceeded)
			}
			if err = errors.Join(err, asError(fault)); fault == nil && !isRefusal(err) {
				return nil, false, fmt.Errorf("server %q: server/discover: %w", o.Name, err)
			}
			return nil, false, &mcp.RevisionError{Server: o.Name, Revision: o.Revision, Err: err} // legacy servers return any kind of error, or none
		}
		return nil, errors.Is(err, errNoResponse), nil
	}
	return nil, false, fmt.Errorf("server %q: server/discover was refused three times", o.Name)
}

// faultOf returns the protocol error in a response, or in the body of an HTTP error, or nil.
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

// statusFault returns the protocol error in the body of an HTTP error, or nil.
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
	return errors.As(err, &status) && slices.Contains(codes, status.Status)
}

// choose returns another modern revision that the server offers, or nil if the server offers only
// legacy ones.
func (c *conn) choose(e *jsonrpc.Error) (*revision.Revision, error) {
	if e.Code != revision.CodeUnsupportedRevision {
		return nil, fmt.Errorf("server %q: server/discover: %w", c.options.Name, e)
	}
	offered := revision.Offered(e)
	if r := revision.CommonModern(offered); r != nil {
		return r, nil // perhaps the same revision: a server may accept it the next time
	}
	for _, name := range offered {
		if r := revision.Lookup(name); r != nil && !r.Modern {
			return nil, nil
		}
	}
	err := fmt.Errorf("server %q supports %v, but junction supports %v", c.options.Name, offered, append(revision.Modern(), revision.Legacy()...))
	if c.options.Revision != "" {
		err = &mcp.RevisionError{Server: c.options.Name, Revision: c.options.Revision, Err: err}
	}
	return nil, err
}

// A discovery is a server/discover request. Its response may arrive after the wait has ended.
type discovery struct {
	revision *revision.Revision
	done     chan struct{} // closed with the response or the error
	message  *jsonrpc.Message
	err      error
}

// isModern reports whether a modern response has arrived, or arrives within lateTime. A server that
// starts reads its queued messages at once, so the response to the first one may be about to
// arrive.
func (d *discovery) isModern(ctx context.Context, c *conn) bool {
	moment := time.NewTimer(lateTime)
	defer moment.Stop()
	select {
	case <-d.done:
		return d.err == nil && d.message.Error == nil && c.discovered(d.revision, d.message) != nil
	case <-moment.C:
	case <-ctx.Done():
	}
	return false
}

// discover sends server/discover, and waits as long as endProbe allows. A later response goes to
// c.late, until ctx ends.
func (c *conn) discover(ctx context.Context, r *revision.Revision) (*jsonrpc.Message, error) {
	s := &session{revision: r}
	req := &mcp.Request{Method: methodDiscover, Meta: c.options.Meta, Peer: noPeer{}}
	k, err := c.addCallWithin(ctx, req)
	if err != nil {
		return nil, err
	}
	d := &discovery{revision: r, done: make(chan struct{})}
	c.late = d
	if !c.spawn(func() {
		defer close(d.done)
		defer c.finishCall(k)
		d.message, d.err = c.link.Call(k.ctx, newModern(c).out(s, k.id, req, nil, nil), func(m *jsonrpc.Message) { c.receive(k, m) })
	}) {
		c.finishCall(k)
		return nil, mcp.ErrClosed
	}
	waiting, end := context.WithCancelCause(ctx)
	var ending sync.WaitGroup
	defer ending.Wait()
	defer end(nil)
	ending.Go(func() { c.endProbe(waiting, end) })
	select {
	case <-d.done:
		return d.message, d.err
	case <-waiting.Done():
	}
	if ctx.Err() == nil {
		return nil, context.Cause(waiting)
	}
	<-d.done // ctx has ended, and the call ends with it
	return d.message, d.err
}

// endProbe ends a probe that got no response in time. The time starts again while the server is
// starting, and if it was starting when the probe began.
func (c *conn) endProbe(ctx context.Context, end context.CancelCauseFunc) {
	starting := c.options.Starting
	if starting == nil {
		starting = func() bool { return false }
	}
	limit := c.options.ProbeTimeout
	if limit <= 0 {
		limit = probeTime
		if deadline, has := ctx.Deadline(); has { // half of the time is for the handshake
			limit = max(1, min(limit, time.Until(deadline)/2))
		}
	}
	ticker := time.NewTicker(limit)
	defer ticker.Stop()
	for before := starting(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := starting()
		if !now && !before {
			end(errNoResponse)
			return
		}
		before = now
	}
}

// discovered returns the session for the response to server/discover, or nil if the response is not
// a valid result.
func (c *conn) discovered(r *revision.Revision, m *jsonrpc.Message) *session {
	s := &session{revision: r, era: newModern(c)}
	result, err := c.result(c.ctx, s, &mcp.Request{Method: methodDiscover}, m)
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

// handshake begins a legacy session, and makes it the session of the connection.
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
	s, err := e.initialized(ctx, m)
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

// initialized returns the session for the result of initialize.
func (e *legacy) initialized(ctx context.Context, m *jsonrpc.Message) (*session, error) {
	raw := m.Members.Get("protocolVersion")
	version, ok := jsonrpc.Unquote(raw)
	r := revision.Lookup(version)
	switch {
	case r != nil:
	case ok:
		r = revision.Lookup(strings.TrimSpace(version))
	case raw == nil || string(raw) == "null":
		r, ok = revision.Oldest(), true
	}
	if r != nil && r.Name != version {
		e.met(ctx, tolerance.ProtocolVersion, methodInitialize)
	}
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

// openStream opens the session's own stream, and waits a moment for the server to respond. Some
// servers lose messages while the stream is not open, such as a request during the first call.
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
	case <-moment.C: // the server may send no headers before its first message
	case <-ctx.Done():
	}
}

// A sessionStream is the HTTP stream for a legacy server's messages outside of calls. The handshake
// owns it, and only one handshake runs at a time.
type sessionStream struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// closeStream ends the stream of the previous session.
func (e *legacy) closeStream() {
	if e.stream != nil {
		e.stream.cancel(errors.New("a new session replaced it"))
		<-e.stream.ended
		e.stream = nil
	}
}

func orNoCapabilities(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if c == nil {
		return &mcp.ClientCapabilities{}
	}
	return c
}
