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

// Limits of what one server has asked its clients.
const (
	maxAsked      = 1_024    // requests that wait for responses
	maxAskedBytes = 32 << 20 // bytes of them
)

// A serverRequest is a request of the server that it waits for the response to. It
// is on the era's table until somebody responds to it, or it is withdrawn: whoever
// takes it off may respond, so nobody does twice, or to what was withdrawn.
type serverRequest struct {
	session *session // that asked, and gets the response
	message *jsonrpc.Message

	// They only change while the request is on the table, under the era's mutex:
	inCall      bool   // a call has it, or will
	onWithdrawn func() // stops whoever has it

	// Of whoever the request was handed to:
	unnamed bool // it came without an association
	waited  bool // it waited for a call: it is of no call, but of the client
	turn    bool // the era's turn was taken for it, and not yet handed to the call

	// Of the goroutine that owns the call:
	askKey  string             // under which the client is asked; a server may use an id again
	stop    context.CancelFunc // ends asking the client; nil while nobody is asked
	blocked *round             // the round in which the client could not respond, if any
}

// An askedKey is what a response to a request of the server is matched by: a session
// begins with the same ids as the one before.
type askedKey struct {
	session *session
	id      jsonrpc.ID
}

func (r *serverRequest) key() askedKey { return askedKey{r.session, r.message.ID.Plain()} }

// register puts a request of the server on the table; false if it is not to be
// handed to anybody.
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
	case over: // nobody could respond any more
		e.log.Debug("mcp: a request of a session that was replaced", "server", e.options.Name, "id", string(key.id))
	case twice:
		e.log.Debug("mcp: the server used the id of a request again that is still open", "server", e.options.Name, "id", string(key.id),
			mcp.LogBreach, "an id must not have been used before in the same session (basic)")
	case full:
		e.refuse(r.session, key.id, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests of this server wait for responses already: at most %d, of %d MiB", maxAsked, maxAskedBytes>>20))
	}
	return taken
}

// assign notes whether a call has a request of the server, and what happens when that is
// withdrawn from now on; false if it is not wanted any more.
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

// forget takes a request of the server off the table; false if it is not there any
// more.
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

// reject refuses a request of the server, if it is still wanted.
func (e *legacy) reject(r *serverRequest, fault *jsonrpc.Error) {
	if e.forget(r) {
		e.refuse(r.session, r.message.ID, fault)
	}
}

// withdraw takes back a request of the server. Whoever it is being handed to finds it
// off the table.
func (e *legacy) withdraw(key askedKey) {
	e.mu.Lock()
	r := e.asked[key]
	e.mu.Unlock()
	if r != nil && e.forget(r) && r.onWithdrawn != nil {
		r.onWithdrawn()
	}
}

// withdrawOthers takes back all that was asked in other sessions than the present one:
// no response could reach them.
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

// stopAsking tells the client, if it is being asked, that no response is wanted.
func (r *serverRequest) stopAsking() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// addRequest takes a request of the server.
func (p *legacyCall) addRequest(ev event) {
	r := ev.request
	if p.early != nil { // its response was faster: the call is over for the server
		p.era.dropTurn(r)
		p.open = append(p.open, r)
		p.dropOpen()
		return
	}
	if r.turn && !p.holdsTurn { // the first one: it had no turn to wait for
		p.holdsTurn, r.turn = true, false
	}
	p.era.dropTurn(r)
	if !p.era.isWanted(r) { // its withdrawal was faster than it
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

// ask asks the client of the present round; that of the next, while parked.
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

// forward passes the client's response on to the server.
func (p *legacyCall) forward(ev event) {
	r := ev.request
	i := slices.Index(p.open, r)
	switch {
	case i < 0, ev.askKey != r.askKey: // withdrawn, or asked again since
		return
	case ev.err != nil && ev.round != p.round: // a later round asks again
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
