package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// connect reaches a server and finds out which era it speaks
// (2026-07-28 basic/transports/stdio and streamable-http, backward compatibility):
// a modern request first; what comes back tells, or else the handshake.
func connect(ctx context.Context, t Transport, o ClientOptions) (*upstream, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.openTimeout(), fmt.Errorf("server %q: no handshake within %v", o.name(t), o.openTimeout()))
	defer cancel()
	l, err := t.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", o.name(t), err)
	}
	u := newUpstream(l, o.name(t), o)
	modern, err := u.probe(ctx)
	switch {
	case err != nil:
		u.close()
		return nil, err
	case modern:
		return u, nil
	}
	if u.link.Err() != nil { // it died of the question: some do
		u.close()
		if l, err = t.Connect(ctx); err != nil {
			return nil, fmt.Errorf("server %q: %w", o.name(t), err)
		}
		u = newUpstream(l, o.name(t), o)
	}
	if err := u.handshake(ctx); err != nil {
		if u.wokeModern(ctx, err) {
			return u, nil
		}
		u.close()
		older, ok := u.link.(link.Fallback)
		if !ok || !mayBeOlder(err) {
			return nil, err
		}
		return connectOlder(ctx, older, err, o.name(t), o)
	}
	return u, nil
}

// wokeModern asks a second time whether the server is modern, after its handshake
// failed: one that slept through the first question, such as one that was still
// starting, answers initialize with an error where it is not legacy.
func (u *upstream) wokeModern(ctx context.Context, handshake error) bool {
	var fault *jsonrpc.Error
	var status *link.StatusError
	if errors.As(handshake, &status) {
		fault = status.Fault
	} else if !errors.As(handshake, &fault) {
		return false
	}
	if !u.silent || fault == nil || u.options.Revision != "" {
		return false
	}
	u.era, u.revision = newModernEra(u), revision.Latest()
	modern, err := u.probe(ctx)
	return modern && err == nil
}

// connectOlder tries the transport before Streamable HTTP at the same URL.
func connectOlder(ctx context.Context, f link.Fallback, first error, name string, o ClientOptions) (*upstream, error) {
	l, err := f.Older(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and not HTTP+SSE either: %w", first, err)
	}
	u := newUpstream(l, name, o)
	if err := u.handshake(ctx); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

// mayBeOlder reports whether a failed handshake looks like a server that knows
// HTTP+SSE only.
func mayBeOlder(err error) bool {
	var status *link.StatusError
	return errors.As(err, &status) && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
}

func newUpstream(l link.Link, name string, o ClientOptions) *upstream {
	u := &upstream{link: l, name: name, options: o, log: o.logger(),
		calls: make(map[jsonrpc.ID]*upcall), listeners: make(map[*upListener]struct{})}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	u.era = newModernEra(u)
	u.revision = revision.Latest()
	if !l.ClosingCancels() { // one channel for everything: read it from the start
		u.receiveAll(u.ctx, func() {})
	}
	return u
}

// receiveAll reads what belongs to no call, as long as the connection lives, and
// then calls ended; false if the connection is closed already. It returns when
// reading has begun, so that no response overtakes what came before it.
func (u *upstream) receiveAll(ctx context.Context, ended func()) bool {
	begun := make(chan struct{})
	runs := u.run(func() {
		defer ended()
		err := u.link.Receive(ctx, func() { close(begun) }, func(m *jsonrpc.Message) { u.receive(nil, m) })
		if err != nil && u.ctx.Err() == nil {
			u.log.Debug("mcp: no more messages from the server", "server", u.name, "error", err)
		}
	})
	if runs {
		<-begun
	}
	return runs
}

// probe asks server/discover. It reports whether the server is modern; the error
// says that it cannot be used at all.
func (u *upstream) probe(ctx context.Context) (modern bool, err error) {
	if r := revision.Lookup(u.options.Revision); u.options.Revision != "" && (r == nil || !r.Modern) {
		if r == nil {
			return false, fmt.Errorf("revision %q is unknown; known are %v", u.options.Revision, append(revision.Modern(), revision.Legacy()...))
		}
		return false, nil
	}
	for range 3 {
		m, err := u.discover(ctx)
		var status *link.StatusError
		switch {
		case err == nil && m.Error == nil:
			return u.discoveredModern(m)
		case err == nil && revision.IsModern(m.Error):
			if retry, err := u.choose(m.Error); !retry {
				return err != nil, err
			}
			continue
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.As(err, &status):
			if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
				return false, fmt.Errorf("server %q: %w", u.name, err)
			}
			if status.Fault != nil && revision.IsModern(status.Fault) {
				if retry, err := u.choose(status.Fault); !retry {
					return err != nil, err
				}
				continue
			}
		}
		if err == nil {
			err = m.Error
		}
		return u.mustBeModern(err)
	}
	return false, fmt.Errorf("server %q: server/discover was refused three times", u.name)
}

// mustBeModern is the end of a probe that did not find a modern server.
func (u *upstream) mustBeModern(err error) (bool, error) {
	if u.options.Revision == "" {
		return false, nil
	}
	return false, fmt.Errorf("server %q does not speak %s: %w", u.name, u.options.Revision, err)
}

// choose takes another modern revision that the server offers. retry is false
// where there is none: then the server is legacy, or of no use.
func (u *upstream) choose(e *jsonrpc.Error) (retry bool, err error) {
	if e.Code != revision.CodeUnsupportedRevision {
		return false, fmt.Errorf("server %q: server/discover: %w", u.name, e)
	}
	offered := revision.Offered(e)
	if r := revision.CommonModern(offered); r != nil {
		u.revision = r // perhaps the same: what was refused may be taken the next time
		return true, nil
	}
	for _, name := range offered {
		if r := revision.Lookup(name); r != nil && !r.Modern {
			return false, nil
		}
	}
	return false, fmt.Errorf("server %q speaks %v, and Junction %v", u.name, offered, append(revision.Modern(), revision.Legacy()...))
}

// errSilent is why a probe ends that the server did not answer.
var errSilent = errors.New("no answer to server/discover")

// discover asks the server what it is, and gives it a moment to answer.
func (u *upstream) discover(ctx context.Context) (*jsonrpc.Message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, u.options.probeTimeout(), errSilent)
	defer cancel()
	req := &Request{Method: methodDiscover, Meta: u.options.meta(), Peer: noPeer{}}
	c, err := u.open(ctx, req)
	if err != nil {
		return nil, err
	}
	defer u.done(c)
	m, err := u.link.Call(ctx, u.modernOut(c.id, req, nil, ""), func(m *jsonrpc.Message) { u.receive(c, m) })
	u.silent = err != nil && context.Cause(ctx) == errSilent
	return m, err
}

// discoveredModern keeps what the server said of itself.
func (u *upstream) discoveredModern(m *jsonrpc.Message) (bool, error) {
	req := &Request{Method: methodDiscover}
	result, err := u.answer(req, m)
	if err != nil {
		return false, nil
	}
	var d DiscoverResult
	if err := schema.DecodeLoose(result.JSON, &d); err != nil || d.SupportedVersions == nil {
		return false, nil // whatever it is, it is no discovery
	}
	if r := revision.CommonModern(d.SupportedVersions); r != nil {
		u.revision = r
	} else if len(d.SupportedVersions) > 0 {
		return false, nil
	}
	u.discovered, u.has = result, d.Capabilities
	return true, nil
}

// handshake begins a legacy session.
func (u *upstream) handshake(ctx context.Context) error {
	u.era, u.revision = newLegacyEra(u), revision.LatestLegacy()
	if u.options.Revision != "" {
		u.revision = revision.Lookup(u.options.Revision)
		if u.revision == nil || u.revision.Modern {
			return fmt.Errorf("server %q does not speak %s", u.name, u.options.Revision)
		}
	}
	id := jsonrpc.IntID(u.ids.Add(1))
	params, err := u.initializeParams()
	if err != nil {
		return err
	}
	out := link.Out{ID: id, Method: methodInitialize, Message: jsonrpc.AppendRequest(nil, id, methodInitialize, params)}
	m, err := u.link.Call(ctx, out, func(m *jsonrpc.Message) { u.receive(nil, m) })
	if err != nil {
		return fmt.Errorf("server %q: initialize: %w", u.name, err)
	}
	if m.Error != nil {
		return fmt.Errorf("server %q: initialize: %w", u.name, m.Error)
	}
	if err := u.initialized(m); err != nil {
		return err
	}
	u.tell(notificationInitialized, nil)
	if u.link.ClosingCancels() {
		u.openNews(ctx)
	}
	return nil
}

// openNews opens the session's own stream and gives the server a moment to
// answer: what some servers send while it is not open yet, such as the question
// of the first call, is lost.
func (u *upstream) openNews(ctx context.Context) {
	answered := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answered) })
	trace := &httptrace.ClientTrace{GotFirstResponseByte: answer}
	if !u.receiveAll(httptrace.WithClientTrace(u.ctx, trace), answer) {
		return
	}
	moment := time.NewTimer(newsTime)
	defer moment.Stop()
	select {
	case <-answered:
	case <-moment.C: // it may send no headers before its first message
	case <-ctx.Done():
	}
}

func (u *upstream) initializeParams() (json.RawMessage, error) {
	meta := u.options.meta()
	return schema.Encode(nil, struct {
		ProtocolVersion string              `json:"protocolVersion"`
		Capabilities    *ClientCapabilities `json:"capabilities"`
		ClientInfo      *Implementation     `json:"clientInfo"`
	}{u.revision.Name, meta.Capabilities, meta.Client})
}

// initialized keeps what the server said of itself in the handshake.
func (u *upstream) initialized(m *jsonrpc.Message) error {
	version, ok := jsonrpc.Unquote(m.Members.Get("protocolVersion"))
	r := revision.Lookup(version)
	if !ok || r == nil || r.Modern {
		return fmt.Errorf("server %q: initialize: expected one of the protocol versions %v, got %.40s", u.name, revision.Legacy(), m.Members.Get("protocolVersion"))
	}
	u.revision = r
	body, meta := revision.Discovery(m.Result)
	u.discovered = Result{JSON: body, Meta: meta}
	var d DiscoverResult
	if err := schema.DecodeLoose(body, &d); err != nil {
		u.log.Debug("mcp: the server's capabilities cannot be read", "server", u.name, "error", err)
	}
	u.has = d.Capabilities
	return nil
}

// noPeer is the Peer of requests that a connection makes for itself.
type noPeer struct{}

func (noPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

func (noPeer) Ask(_ context.Context, q Question) (json.RawMessage, error) {
	return nil, Errorf(CodeMethodNotFound, "%s: there is nobody to ask", q.Method)
}

func (o *ClientOptions) openTimeout() time.Duration {
	if o.ConnectTimeout > 0 {
		return o.ConnectTimeout
	}
	return openTime
}

func (o *ClientOptions) probeTimeout() time.Duration {
	if o.ProbeTimeout > 0 {
		return o.ProbeTimeout
	}
	return probeTime
}
