package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// A legacy implements requests to a legacy server. One session serves all requests, and the server
// may send requests while a call runs.
type legacy struct {
	*conn

	stream *sessionStream // stream that the handshake opened; see closeStream

	levelTurn turn.Turn
	level     mcp.LogLevel // level last set on the server; belongs to the holder of levelTurn

	callTurn     *callerTurn   // held by calls during which the server may send requests, if its requests name no call
	outsideSlots chan struct{} // a value for each server request outside of calls that is being handled

	asksFirst    atomic.Bool // set if the server did not respond to a list before its own request was refused
	rootsRefused atomic.Bool // set if the refused request was for the roots, and the server was not yet notified that they are available

	parkedPlaces *share.Budget // number of parked calls
	parkedBytes  *share.Budget // bytes of parked calls
	watchers     *share.Budget // number of watched tasks

	mu            sync.Mutex
	parked        map[string]*call            // by ticket
	asked         map[askedKey]*serverRequest // server requests that wait for responses, inside and outside of calls
	askedBytes    int                         // bytes of their params
	listeners     map[*listener]struct{}
	unheard       map[string]bool // lists that changed without a listener, by method
	subscriptions map[string]*subscription
	renewal       *renewal
	renewing      *session              // the session that is being replaced until that succeeds, even without requests
	waiting       []*serverRequest      // requests that wait for a call; see postpone
	watched       map[string]*taskWatch // by task id
}

func newLegacy(c *conn) *legacy {
	return &legacy{
		conn: c, callTurn: new(callerTurn),
		parkedPlaces: share.New(maxParked), parkedBytes: share.Bytes(maxParkedBytes), watchers: share.New(maxWatched),
		parked: map[string]*call{}, asked: map[askedKey]*serverRequest{}, outsideSlots: make(chan struct{}, maxWaiting),
		listeners: map[*listener]struct{}{}, unheard: map[string]bool{}, subscriptions: map[string]*subscription{}, watched: map[string]*taskWatch{},
	}
}

// call sends the request, or resumes a call that waited for its client.
func (e *legacy) call(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	if ticket := req.State.Get(stateParked); ticket != nil {
		result, err := e.resume(ctx, req, ticket)
		return raised(s, req, result), err
	}
	if err := e.setLevel(ctx, s, req.Meta.LogLevel); err != nil {
		return mcp.Result{}, err
	}
	required := requiredBefore(req)
	for attempt := 0; ; attempt++ {
		if required == nil {
			result, err := e.perform(ctx, s, req)
			if required = pagesRequired(err); required == nil || attempt == maxRounds {
				return result, err
			}
		}
		if err := required.visit(ctx, e.conn, s, req); err != nil {
			return mcp.Result{}, err
		}
		required = nil
	}
}

// legacyParams returns the params without the members of the modern revision.
func legacyParams(id jsonrpc.ID, req *mcp.Request) json.RawMessage {
	own := jsonrpc.Get(req.Params, "_meta")
	if own == nil && req.Meta.ProgressToken == nil {
		return req.Params
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(req.Params)+32))
	w.Members(req.Params, "_meta", "inputResponses", "requestState")
	meta := jsonrpc.NewObject(nil)
	var names []string
	jsonrpc.EachMember(own, func(quoted, _ []byte) bool {
		if name, ok := jsonrpc.Unquote(quoted); ok && strings.HasPrefix(name, revision.MetaReserved) {
			names = append(names, name)
		}
		return true
	})
	meta.Members(own, append(names, "progressToken")...)
	if req.Meta.ProgressToken != nil {
		meta.ID("progressToken", id)
	}
	if m := meta.Bytes(); len(m) > len("{}") {
		w.Raw("_meta", m)
	}
	return w.Bytes()
}

// setLevel sets the server's log level for the client of a request. It sets the least severe level
// requested so far. It does not repeat a request that the server refused or did not respond to.
func (e *legacy) setLevel(ctx context.Context, s *session, level mcp.LogLevel) error {
	if level.Severity() == 0 || s.capabilities.Logging == nil {
		return nil
	}
	if err := e.levelTurn.Acquire(ctx); err != nil {
		return err
	}
	defer e.levelTurn.Release()
	s = e.session.Load() // a new session may have begun with the previous level
	if e.level != "" && e.level.Severity() <= level.Severity() {
		return nil
	}
	e.level = level
	return e.sendLevel(ctx, s, level)
}

// sendLevel sends the level before the caller's request. It waits at most for levelTime, so that a
// server that does not respond delays nothing.
func (e *legacy) sendLevel(ctx context.Context, s *session, level mcp.LogLevel) error {
	responded := make(chan struct{})
	e.spawn(func() {
		defer close(responded)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime) // derived from the call's context, for its observers
		defer cancel()
		defer context.AfterFunc(e.ctx, cancel)()
		w := jsonrpc.NewObject(nil)
		w.String("level", string(level))
		if _, err := e.do(ctx, s, methodSetLevel, w.Bytes()); err != nil {
			e.log.Debug("mcp: the server does not accept the log level", "server", e.options.Name, "level", level, "error", err)
		}
	})
	timer := time.NewTimer(levelTime)
	defer timer.Stop()
	select {
	case <-responded:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.ctx.Done(): // spawn may have started nothing
	}
	return nil
}

// do sends a request that needs no notifications, server requests or further rounds.
func (e *legacy) do(ctx context.Context, s *session, method string, params json.RawMessage) (mcp.Result, error) {
	req := &mcp.Request{Method: method, Params: params, Peer: noPeer{}}
	m, err := e.simple(ctx, s, req, func(id jsonrpc.ID) link.Out {
		return link.Out{ID: id, Method: method, Session: s.id, Message: jsonrpc.AppendRequest(nil, id, method, params), Header: e.header(s, method, "")}
	})
	if err != nil {
		return mcp.Result{}, err
	}
	return e.result(ctx, s, req, m)
}

func (e *legacy) ping(ctx context.Context, s *session) error {
	_, err := e.do(ctx, s, methodPing, nil)
	return err
}

// request handles a request of the server. If it did not come on the channel of a call, it belongs
// to an open call whose client is certain.
func (e *legacy) request(s *session, k *call, m *jsonrpc.Message) {
	switch m.Method {
	case methodRootsList, methodSample, methodElicit:
	default:
		e.refuse(s, m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", m.Method))
		return
	}
	if m.Params != nil && m.Params[0] != '{' {
		e.refuse(s, m.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: params: expected an object", m.Method))
		return
	}
	if of := e.waitingFor(m.Params); of != nil { // on any stream
		k = of
	}
	if r := (&serverRequest{session: s, message: m, inCall: k != nil && k.acceptsRequests}); e.register(r) {
		e.route(k, r)
	}
}

// route passes a request of the server to its call, or to handleOutside. The request came on the
// channel of the call k, if that is not nil.
func (e *legacy) route(k *call, r *serverRequest) {
	sameCaller := true
	r.unnamed = k == nil || !k.acceptsRequests
	switch {
	case k != nil && r.unnamed: // a request of the connection itself
		k = nil
	case k == nil:
		k, sameCaller = e.unnamed()
		switch {
		case !e.options.OneClient:
			e.namesNone.Store(true)
		case k != nil && !mayAsk(k.method): // the call merely runs at this time, and a modern client cannot be asked during it
			k, sameCaller = nil, true
		}
	}
	switch {
	case !sameCaller:
		e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: requests of several clients are running, and the server does not name the one it means; send the request again in a later call", r.message.Method))
	case k == nil:
		e.handleOutside(r)
	default:
		e.deliver(k, r)
	}
}

// deliver passes a request of the server to a call.
func (e *legacy) deliver(k *call, r *serverRequest) {
	if r.unnamed && !e.options.OneClient { // the turn is taken now, as no other call may begin before the call's goroutine handles the request
		r.turn = e.callTurn.try(k.caller)
	}
	stop := func() { k.events.put(event{kind: withdrawn, request: r}) }
	if e.assign(r, true, stop) && k.events.put(event{kind: requested, message: r.message, request: r}) {
		return
	}
	e.dropTurn(r)
	e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: the request that it belongs to is over, or its client does not keep up", r.message.Method))
}

// dropTurn releases the turn that was taken for a request of the server, if its call did not get
// the turn.
func (e *legacy) dropTurn(r *serverRequest) {
	if r.turn {
		r.turn = false
		e.callTurn.release()
	}
}

// handleOutside handles a request of the server that belongs to no call. The Peer of the connection
// responds, or the client if there is only one. That client gets the request on the stream on which
// it listens, or otherwise in its next call.
func (e *legacy) handleOutside(r *serverRequest) {
	peer := e.options.Peer
	if peer == nil && e.options.OneClient {
		if peer = e.listening(); peer == nil {
			e.postpone(r)
			return
		}
	}
	if peer == nil {
		e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: allowed only during a request of the client", r.message.Method))
		return
	}
	select {
	case e.outsideSlots <- struct{}{}:
	default:
		e.reject(r, jsonrpc.Errorf(jsonrpc.InternalError, "%d requests outside of calls wait for responses already", maxWaiting))
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	over := func() { cancel(); <-e.outsideSlots }
	ask := func() {
		defer over()
		result, err := peer.Ask(ctx, mcp.ServerRequest{Method: r.message.Method, Params: r.message.Params})
		switch {
		case errors.Is(err, mcp.ErrInputRequired):
			e.postpone(r)
		case err != nil:
			e.reject(r, faultToServer(err))
		case e.forget(r):
			e.respond(r.session, r.message.ID, jsonrpc.AppendResult(nil, r.message.ID, r.session.revision.ServerRequestResult(r.message.Method, result)))
		}
	}
	if !e.assign(r, false, cancel) || !e.spawn(ask) {
		over()
	}
}

// listening returns the Peer of a listen request, or nil.
func (e *legacy) listening() mcp.Peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		if !l.onlyTasks {
			return l.peer
		}
	}
	return nil
}

// asksOutside reports whether an open request of the server belongs to no call.
func (e *legacy) asksOutside() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.asked {
		if !r.inCall {
			return true
		}
	}
	return false
}

// faultToServer returns the error with which a legacy client refuses a request (client/roots,
// client/elicitation).
func faultToServer(err error) *jsonrpc.Error {
	f := mcp.ErrorOf(err)
	code := f.Code
	if code == mcp.CodeMissingCapability { // legacy revisions have no such code
		code = mcp.CodeMethodNotFound
	}
	return &jsonrpc.Error{Code: code, Message: f.Message, Data: f.Data}
}
