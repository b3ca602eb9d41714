package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// legacy speaks to a legacy server: one session for all requests, and requests
// from the server while a call runs.
type legacy struct {
	*conn

	stream *sessionStream // of the handshake, see closeStream

	levelTurn turn.Turn
	level     mcp.LogLevel // that the server was asked to log at; whoever has levelTurn owns it

	callTurn     *callerTurn   // held by calls that may ask, of a server that names no call
	namesNone    atomic.Bool   // the server sent a request without an association
	outsideSlots chan struct{} // holds a token for each request outside of calls that is being answered

	mu            sync.Mutex
	parked        map[string]*call // by ticket
	parkedBytes   int              // that they hold
	asked         map[jsonrpc.ID]*serverRequest
	askedBytes    int // of their parameters
	listeners     map[*listener]struct{}
	subscriptions map[string]*subscription
	renewal       *renewal
	renewing      *session           // that is being replaced until it works, also while nobody asks
	waiting       []*jsonrpc.Message // requests of the server that wait for a call
}

func newLegacy(c *conn) *legacy {
	return &legacy{
		conn: c, callTurn: newCallerTurn(),
		parked: map[string]*call{}, asked: map[jsonrpc.ID]*serverRequest{}, outsideSlots: make(chan struct{}, maxWaiting),
		listeners: map[*listener]struct{}{}, subscriptions: map[string]*subscription{},
	}
}

// call asks the server, or goes on with a call that waited for its client.
func (e *legacy) call(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	if ticket := req.State.Get(stateParked); ticket != nil {
		return e.resume(ctx, req, ticket)
	}
	if err := e.setLevel(ctx, s, req.Meta.LogLevel); err != nil {
		return mcp.Result{}, err
	}
	required := requiredBefore(req)
	for attempt := 0; ; attempt++ {
		if required == nil {
			result, err := e.begin(ctx, s, req)
			if required = pagesRequired(err); required == nil || attempt == maxRounds {
				return result, err
			}
		}
		if err := required.visit(ctx, req); err != nil {
			return mcp.Result{}, err
		}
		required = nil
	}
}

// legacyParams are the parameters without what only the modern revision knows.
func legacyParams(id jsonrpc.ID, req *mcp.Request) json.RawMessage {
	own := jsonrpc.Get(req.Params, "_meta")
	if own == nil && req.Meta.ProgressToken == nil {
		return req.Params
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(req.Params)+32))
	w.Members(req.Params, "_meta", "inputResponses", "requestState")
	meta := jsonrpc.NewObject(nil)
	meta.Members(own, append(reservedNames(own), "progressToken")...)
	if req.Meta.ProgressToken != nil {
		meta.ID("progressToken", id)
	}
	if m := meta.Bytes(); len(m) > len("{}") {
		w.Raw("_meta", m)
	}
	return w.Bytes()
}

// reservedNames are the members of _meta that only the modern revision knows.
func reservedNames(meta json.RawMessage) []string {
	var names []string
	jsonrpc.EachMember(meta, func(quoted, _ []byte) bool {
		if name, ok := jsonrpc.Unquote(quoted); ok && strings.HasPrefix(name, revision.MetaReserved) {
			names = append(names, name)
		}
		return true
	})
	return names
}

// setLevel makes the server log what the client of a request wants to hear. It
// is asked for the least severe level that anybody wanted so far. A server that
// refuses, or does not respond in time, is not asked again.
func (e *legacy) setLevel(ctx context.Context, s *session, level mcp.LogLevel) error {
	if level.Severity() == 0 || s.capabilities.Logging == nil {
		return nil
	}
	if err := e.levelTurn.Acquire(ctx); err != nil {
		return err
	}
	defer e.levelTurn.Release()
	if e.level != "" && e.level.Severity() <= level.Severity() {
		return nil
	}
	if err := e.sendLevel(ctx, s, level); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.level = level
	return nil
}

func (e *legacy) sendLevel(ctx context.Context, s *session, level mcp.LogLevel) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	w := jsonrpc.NewObject(nil)
	w.String("level", string(level))
	_, err := e.do(ctx, s, methodSetLevel, w.Bytes())
	if err != nil {
		e.log.Debug("mcp: the server does not take the log level", "server", e.options.Name, "level", level, "error", err)
	}
	return err
}

// do makes a request in which nothing else happens.
func (e *legacy) do(ctx context.Context, s *session, method string, params json.RawMessage) (mcp.Result, error) {
	req := &mcp.Request{Method: method, Params: params, Peer: noPeer{}}
	m, err := e.simple(ctx, s, req, func(id jsonrpc.ID) link.Out {
		return link.Out{ID: id, Method: method, Message: jsonrpc.AppendRequest(nil, id, method, params), Header: e.header(s, method, "")}
	})
	if err != nil {
		return mcp.Result{}, err
	}
	return e.result(s, req, m)
}

func (e *legacy) ping(ctx context.Context, s *session) error {
	_, err := e.do(ctx, s, methodPing, nil)
	return err
}

// Limits of what one server has asked its clients.
const (
	maxAsked      = 1_024    // requests that wait for responses
	maxAskedBytes = 32 << 20 // bytes of their parameters
)

// request takes a request of the server. One that came on no call's channel
// belongs to an open call, if there is no doubt whose client is meant.
func (e *legacy) request(k *call, m *jsonrpc.Message) {
	switch m.Method {
	case methodRootsList, methodSample, methodElicit:
	default:
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", m.Method))
		return
	}
	if m.Params != nil && m.Params[0] != '{' {
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: params: expected an object", m.Method))
		return
	}
	if k != nil && !k.acceptsRequests { // a request that the connection made for itself
		e.handleOutside(m)
		return
	}
	sameCaller, unnamed := true, k == nil
	if unnamed {
		k, sameCaller = e.unnamed()
		switch {
		case !e.options.OneClient:
			e.namesNone.Store(true)
		case k != nil && !mayAsk(k.method): // it only happens to run, and a modern client is not asked in it
			k, sameCaller = nil, true
		}
	}
	switch {
	case !sameCaller:
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: requests of several clients run, and it cannot be known which one is meant; send the request again in a later call", m.Method))
	case k == nil:
		e.handleOutside(m)
	default:
		e.deliver(k, m, unnamed)
	}
}

// deliver hands a request of the server to a call.
func (e *legacy) deliver(k *call, m *jsonrpc.Message, unnamed bool) {
	r := &serverRequest{message: m, call: k, unnamed: unnamed}
	if unnamed && !e.options.OneClient { // now, and not when the call's owner sees it: until then no other call begins
		r.turn, _ = e.callTurn.try(k.caller, 0)
	}
	e.mu.Lock()
	_, twice := e.asked[m.ID]
	full := len(e.asked) >= maxAsked || e.askedBytes > 0 && e.askedBytes+len(m.Params) > maxAskedBytes
	if !twice && !full {
		e.asked[m.ID] = r
		e.askedBytes += len(m.Params)
	}
	e.mu.Unlock()
	switch taken := !twice && !full && k.events.put(event{kind: requested, message: m, request: r}); {
	case taken:
		return
	case twice:
		e.log.Debug("mcp: the server used the id of a request again that is still open", "server", e.options.Name, "id", string(m.ID))
	case full:
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests of this server wait for responses already: at most %d, of %d MiB", maxAsked, maxAskedBytes>>20))
	default:
		e.forget(r)
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: the request that it belongs to is over, or its client does not keep up", m.Method))
	}
	e.dropTurn(r)
}

// dropTurn releases the turn that was taken for a request of the server that its
// call did not get.
func (e *legacy) dropTurn(r *serverRequest) {
	if r.turn {
		r.turn = false
		e.callTurn.release()
	}
}

// forget takes a request of the server off the table.
func (e *legacy) forget(r *serverRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked[r.message.ID] == r {
		delete(e.asked, r.message.ID)
		e.askedBytes -= len(r.message.Params)
	}
}

// withdraw takes back a request of the server.
func (e *legacy) withdraw(id jsonrpc.ID) {
	e.mu.Lock()
	r := e.asked[id]
	e.waiting = slices.DeleteFunc(e.waiting, func(m *jsonrpc.Message) bool { return m.ID == id })
	e.mu.Unlock()
	if r != nil {
		e.forget(r)
		r.call.events.put(event{kind: withdrawn, request: r})
	}
}

// Limits of the requests of the server that wait for a call of the one client.
const (
	maxWaiting     = 16
	maxWaitingSize = 1 << 20 // bytes of the parameters of one
)

// handleOutside answers a request of the server that belongs to no call: the
// connection's own Peer does, or, where all requests come from one client, that
// client: on the stream that it listens on, or else in its next call.
func (e *legacy) handleOutside(m *jsonrpc.Message) {
	peer := e.options.Peer
	if peer == nil && e.options.OneClient {
		if peer = e.listening(); peer == nil {
			e.postpone(m)
			return
		}
	}
	if peer == nil {
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: allowed only during a request of the client", m.Method))
		return
	}
	select {
	case e.outsideSlots <- struct{}{}:
	default:
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "%d requests outside of calls wait for responses already", maxWaiting))
		return
	}
	e.spawn(func() {
		defer func() { <-e.outsideSlots }()
		result, err := peer.Ask(e.ctx, mcp.ServerRequest{Method: m.Method, Params: m.Params})
		switch {
		case errors.Is(err, mcp.ErrInputRequired):
			e.postpone(m)
		case err != nil:
			e.refuse(m.ID, faultToServer(err))
		default:
			e.respond(jsonrpc.AppendResult(nil, m.ID, result))
		}
	})
}

// listening is the Peer of a listen request, if there is one.
func (e *legacy) listening() mcp.Peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		return l.peer
	}
	return nil
}

// postpone lets a request of the server wait for the next call of the one client.
func (e *legacy) postpone(m *jsonrpc.Message) {
	e.mu.Lock()
	full := len(e.waiting) >= maxWaiting || len(m.Params) > maxWaitingSize
	if !full {
		e.waiting = append(e.waiting, m)
	}
	e.mu.Unlock()
	if full {
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "%d requests wait for the client already", maxWaiting))
	}
}

// takeWaiting gives the requests of the server that waited for a call to one, and
// reports whether there were any.
func (e *legacy) takeWaiting(k *call) bool {
	e.mu.Lock()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, m := range waiting {
		e.deliver(k, m, true)
	}
	return len(waiting) > 0
}

// faultToServer is the error with which a legacy client says that it cannot do
// what it is asked (client/roots, client/elicitation).
func faultToServer(err error) *jsonrpc.Error {
	f := mcp.ErrorOf(err)
	code := f.Code
	if code == mcp.CodeMissingCapability { // which legacy revisions do not know
		code = mcp.CodeMethodNotFound
	}
	return &jsonrpc.Error{Code: code, Message: f.Message, Data: f.Data}
}
