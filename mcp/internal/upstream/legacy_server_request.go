package upstream

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Limits of the open requests of one server to its clients.
const (
	maxAsked      = 1_024    // requests that wait for responses
	maxAskedBytes = 32 << 20 // bytes of these
)

// A serverRequest is a request of the server that waits for its response. It stays in the era's
// table until it has a response or is withdrawn. Only the goroutine that removes it may respond. So
// there is never a second response, or a response to a withdrawn request.
type serverRequest struct {
	session *session // the session that sent it and gets the response
	message *jsonrpc.Message

	// The following fields change only while the request is in the table. The era's mutex guards
	// them.
	inCall      bool   // set if the request belongs to a call, or soon will
	onWithdrawn func() // stops the current handler

	// The following fields belong to the current handler.
	unnamed bool // set if the request names no call
	waited  bool // set if the request waited for a call, so that it belongs to the client and not to the call
	turn    bool // set if the era's turn was taken for it, and its call does not have the turn yet

	// The goroutine that owns the call owns the following fields.
	askKey  string             // key of the request to the client; the server's id alone would not do, because a server may reuse it
	stop    context.CancelFunc // ends the request to the client; nil if there is none
	blocked *round             // the round in which the client could not respond, or nil
}

// An askedKey identifies a request of the server. Ids alone do not, as a new session starts with
// the same ids.
type askedKey struct {
	session *session
	id      jsonrpc.ID
}

func (r *serverRequest) key() askedKey { return askedKey{r.session, r.message.ID.Plain()} }

// register adds a request of the server to the table. It reports false if the request must not be
// handled.
func (e *legacy) register(r *serverRequest) bool {
	key, size := r.key(), sizeOf(r.message)
	e.mu.Lock()
	over := e.session.Load() != r.session
	_, twice := e.asked[key]
	full := len(e.asked) >= maxAsked || e.askedBytes > 0 && e.askedBytes+size > maxAskedBytes
	taken := !over && !twice && !full
	if taken {
		e.asked[key] = r
		e.askedBytes += size
	}
	e.mu.Unlock()
	switch {
	case over: // no response could reach the server
		e.log.Debug("mcp: a request of a session that was replaced", "server", e.options.Name, "id", string(key.id))
	case twice:
		e.log.Debug("mcp: the server used the id of an open request again", "server", e.options.Name, "id", string(key.id),
			mcp.LogBreach, "an id must not have been used before in the same session (basic)")
	case full:
		e.refuse(r.session, key.id, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests of this server wait for responses already: at most %d, of %d MiB", maxAsked, maxAskedBytes>>20))
	}
	return taken
}

// assign sets whether a request of the server belongs to a call, and the function to call when it
// is withdrawn. It reports false if the request no longer waits.
func (e *legacy) assign(r *serverRequest, inCall bool, onWithdrawn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked[r.key()] != r {
		return false
	}
	r.inCall, r.onWithdrawn = inCall, onWithdrawn
	return true
}

// isWanted reports whether a request of the server still waits for its response.
func (e *legacy) isWanted(r *serverRequest) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[r.key()] == r
}

// forget removes a request of the server from the table. It reports false if the table does not
// contain the request.
func (e *legacy) forget(r *serverRequest) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked[r.key()] != r {
		return false
	}
	delete(e.asked, r.key())
	e.askedBytes -= sizeOf(r.message)
	return true
}

// reject sends an error in response to a request of the server, if it still waits.
func (e *legacy) reject(r *serverRequest, fault *jsonrpc.Error) {
	if e.forget(r) {
		e.refuse(r.session, r.message.ID, fault)
	}
}

// withdraw removes a request of the server from the table and stops its handler. A concurrent
// assign then fails.
func (e *legacy) withdraw(key askedKey) {
	e.mu.Lock()
	r := e.asked[key]
	e.mu.Unlock()
	if r != nil && e.forget(r) && r.onWithdrawn != nil {
		r.onWithdrawn()
	}
}

// withdrawOthers withdraws the requests of all sessions except present, as responses could not
// reach the others.
func (e *legacy) withdrawOthers(present *session) {
	e.mu.Lock()
	var others []askedKey
	for key := range e.asked {
		if key.session != present {
			others = append(others, key)
		}
	}
	e.mu.Unlock()
	for _, key := range others {
		e.withdraw(key)
	}
}

// stopAsking withdraws the request to the client, if there is one.
func (r *serverRequest) stopAsking() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// addRequest handles a new request of the server.
func (p *legacyCall) addRequest(ev event) {
	r := ev.request
	if p.early != nil { // the response came first: for the server, the call is over
		p.era.dropTurn(r)
		p.open = append(p.open, r)
		p.dropOpen()
		return
	}
	if r.turn && !p.holdsTurn { // the first request: before it, the call needed no turn
		p.holdsTurn, r.turn = true, false
	}
	p.era.dropTurn(r)
	if !p.era.isWanted(r) { // the withdrawal came first
		return
	}
	if len(p.open) >= maxRequested {
		p.era.reject(r, jsonrpc.Errorf(jsonrpc.InternalError, "%d requests of this call are open already", maxRequested))
		return
	}
	p.taken++
	r.askKey = "ask-" + strings.Trim(string(r.message.ID), `"`) + "-" + strconv.Itoa(p.taken)
	p.open = append(p.open, r)
	p.ask(r)
}

// ask sends a request to the client of the present round. If the call is parked, attach sends it
// later.
func (p *legacyCall) ask(r *serverRequest) {
	if p.round == nil || p.final != nil {
		return
	}
	r.stopAsking()
	ctx, stop := context.WithCancel(p.during())
	r.stop = stop
	events, round := &p.events, p.round
	q := mcp.ServerRequest{Key: r.askKey, Method: r.message.Method, Params: r.message.Params}
	p.era.spawn(func() {
		result, err := round.req.Peer.Ask(ctx, q)
		events.put(event{kind: answered, request: r, askKey: q.Key, result: result, err: err, round: round})
	})
}

// forward passes the client's response to the server.
func (p *legacyCall) forward(ev event) {
	r := ev.request
	i := slices.Index(p.open, r)
	switch {
	case i < 0, ev.askKey != r.askKey: // withdrawn, or sent to the client again since
		return
	case ev.err != nil && ev.round != p.round: // a later round sends it again
		return
	case errors.Is(ev.err, mcp.ErrInputRequired):
		r.blocked = ev.round
		if p.settle == nil {
			p.settle = time.After(settleTime)
		}
		return
	}
	p.open = slices.Delete(p.open, i, i+1)
	r.stopAsking()
	if ev.err != nil {
		p.era.reject(r, faultToServer(ev.err))
		return
	}
	if !p.era.forget(r) { // withdrawn, and its id may be in use again
		return
	}
	if !p.sent && p.held == nil {
		p.held = time.After(heldTime)
	}
	p.era.conn.respond(r.session, r.message.ID, jsonrpc.AppendResult(nil, r.message.ID, r.session.revision.ServerRequestResult(r.message.Method, ev.result)))
}
