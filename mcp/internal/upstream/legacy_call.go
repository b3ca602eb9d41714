package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Limits and times of calls to a legacy server.
const (
	maxRequested   = 64    // open server requests in one call
	maxParked      = 1_024 // parked calls
	maxParkedOfOne = 256   // parked calls of one client, which may never come back

	maxParkedBytes = 32 << 20 // bytes of the params of parked calls, and of responses that wait for their clients

	parkTime    = 10 * time.Minute      // lifetime of a parked call
	turnTime    = 20 * time.Second      // lifetime while calls of other clients wait for the turn
	maxRenewals = 3                     // new sessions for one call, with a server that loses its sessions
	settleTime  = 20 * time.Millisecond // wait for another request before a call is parked
)

var (
	errGivenUp = errors.New("the client did not come back with a response")
	errOver    = mcp.Errorf(mcp.CodeInvalidParams, "requestState: its call is over or was abandoned; send the request again without it")
)

// A round is one request of the client within a call.
type round struct {
	ctx     context.Context
	req     *mcp.Request
	outcome chan outcome // gets exactly one value

	// The goroutine that owns the call owns the following fields.
	during context.Context // see legacyCall.during
	over   func()          // ends the context during
}

func newRound(ctx context.Context, req *mcp.Request) *round {
	return &round{ctx: ctx, req: req, outcome: make(chan outcome, 1)}
}

type outcome struct {
	result mcp.Result
	err    error
}

// A legacyCall owns one call to a legacy server. All fields belong to the method run. The goroutine
// of the client's request executes run until the call is parked, and a goroutine of the connection
// after that.
type legacyCall struct {
	*call
	era          *legacy
	session      *session
	req          *mcp.Request // the client's request of the first round
	cancel       context.CancelCauseFunc
	holdsTurn    bool // set while the call holds the era's callTurn
	sent         bool // set when the request is sent, after the server requests that waited for this call have responses
	cancelled    bool
	ownGoroutine bool // set if run has its own goroutine
	holds        int  // number of times that the call was held
	renewed      int  // number of sessions begun for the call
	resent       bool // set if the request was sent again after its response was lost

	round    *round // nil while the call is parked
	ticket   string // set while the call is parked
	open     []*serverRequest
	reserved int              // bytes that reserve took while the call was parked
	taken    int              // number of server requests so far
	early    *outcome         // outcome that arrived while the call was parked
	final    *outcome         // outcome of the call, which is then over
	settle   <-chan time.Time // when to park the call
	expiry   <-chan time.Time // when to give up a parked call
	yield    <-chan time.Time // the same, if others wait for its turn
	held     <-chan time.Time // when to send the request
	unlisted <-chan time.Time // for a list: when to refuse the requests that wait for another call
}

// begin starts a call and waits for the end of its first round.
func (e *legacy) begin(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	inTurn := e.namesNone.Load() && mayAsk(req.Method)
	if inTurn {
		if err := e.callTurn.acquire(ctx, req.Caller); err != nil {
			return mcp.Result{}, err
		}
		e.awaitLingering(ctx, req.Caller)
		if ctx.Err() != nil {
			e.callTurn.release()
			return mcp.Result{}, context.Cause(ctx)
		}
	}
	k, err := e.conn.addCall(ctx, req)
	if err != nil {
		if inTurn {
			e.callTurn.release()
		}
		return mcp.Result{}, err
	}
	first := newRound(ctx, req)
	p := &legacyCall{call: k, era: e, session: s, req: req, holdsTurn: inTurn, round: first}
	if e.options.OneClient && mayAsk(p.method) {
		p.hold()
		p.offerRoots()
	}
	p.run()
	o := <-first.outcome
	return o.result, o.err
}

// during returns the context of the present round. It also ends with the connection.
func (p *legacyCall) during() context.Context {
	if r := p.round; r.during == nil {
		r.during, r.over = p.era.whileOpen(r.ctx)
	}
	return p.round.during
}

// run sends the request and handles its events until the call is over.
func (p *legacyCall) run() {
	over := true
	defer func() {
		if over { // also if a Peer panicked
			p.finish()
		}
	}()
	if over = p.serve(); over {
		return
	}
	p.ownGoroutine = true
	if over = !p.era.spawn(p.run); over {
		p.closed()
	}
}

// serve runs the call until it is over or parked for the first time. It reports whether the call is
// over.
func (p *legacyCall) serve() bool {
	for p.final == nil && !p.cancelled {
		if !p.sent && p.round != nil && p.held == nil && len(p.open) == 0 && len(p.events.ready) == 0 {
			if p.round.ctx.Err() != nil {
				p.fail(context.Cause(p.round.ctx))
				return true
			}
			p.send()
		}
		var roundOver <-chan struct{}
		if p.round != nil {
			roundOver = p.round.ctx.Done()
		}
		select {
		case <-p.events.ready:
			p.handle(p.events.take())
		case <-roundOver:
			p.fail(context.Cause(p.round.ctx))
			return true
		case <-p.era.open.Done():
			p.closed()
		case <-p.settle:
			p.settle = nil
			if p.round != nil && slices.ContainsFunc(p.open, func(r *serverRequest) bool { return r.blocked == p.round }) {
				if p.park(); !p.ownGoroutine && !p.cancelled {
					return false
				}
			}
		case <-p.expiry:
			p.fail(errGivenUp)
			return true
		case <-p.held:
			p.hold()
		case <-p.unlisted:
			p.refuseWaiting()
		case <-p.yield:
			if p.era.callTurn.wanted() {
				p.fail(errGivenUp)
				return true
			}
			p.yield = time.After(turnTime)
		}
	}
	p.era.removeCall(p.call)
	p.handle(p.events.take()) // events before the end
	switch {
	case p.round == nil:
	case p.final != nil:
		p.reply(*p.final)
	default: // the client came back while the connection was being closed
		p.reply(outcome{err: p.era.failed(p.session, p.req, mcp.ErrClosed)})
	}
	return true
}

// closed ends the call when the connection ends. It uses the response if that has arrived.
func (p *legacyCall) closed() {
	for p.sent && p.final == nil && p.early == nil {
		<-p.events.ready // the exchange ends with the connection and puts an event
		p.handle(p.events.take())
	}
	if p.final == nil {
		p.fail(p.era.failed(p.session, p.req, mcp.ErrClosed))
	}
}

// fail ends the call, and the present round if there is one.
func (p *legacyCall) fail(err error) {
	p.cancelled = true
	if p.sent && p.early == nil {
		p.era.abandoned(p.call)
	}
	if p.cancel != nil {
		p.cancel(err)
	}
	if p.round != nil {
		p.reply(outcome{err: err})
	}
}

// send sends the request. It uses the context of the connection, as the call may outlive the round
// that began it.
func (p *legacyCall) send() {
	p.sent = true
	p.session = p.era.session.Load()
	p.call.session = p.session
	if p.era.options.OneClient && isList(p.method) {
		p.unlisted = time.After(listWaitTime)
	}
	if p.cancel != nil { // of the previous exchange
		p.cancel(nil)
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancelCause(callContext{p.era.open, p.round.ctx})
	params := legacyParams(p.id, p.req)
	p.era.exchange(ctx, p.call, link.Out{ID: p.id, Method: p.method, Session: p.session.id, Arrives: true, Header: p.era.header(p.session, p.method, p.req.Name),
		Message: jsonrpc.AppendRequest(nil, p.id, p.method, params)})
}

// finish releases everything that the call uses. A round that comes too late gets errOver.
func (p *legacyCall) finish() {
	e := p.era
	if p.cancel != nil {
		p.cancel(nil)
	}
	e.mu.Lock()
	e.unpark(p.ticket)
	e.mu.Unlock()
	p.releaseReserved()
	late := p.events.close()
	e.finishCall(p.call)
	p.releaseTurn()
	for _, ev := range late {
		switch ev.kind {
		case attached:
			ev.round.outcome <- outcome{err: errOver}
		case requested:
			p.era.dropTurn(ev.request)
			p.open = append(p.open, ev.request)
		}
	}
	p.dropOpen()
}

// dropOpen releases the server's open requests at the end of the call.
func (p *legacyCall) dropOpen() {
	e, open := p.era, p.open
	p.open = nil
	for _, r := range open {
		r.stopAsking()
		other, _ := e.unnamed()
		switch {
		case r.waited: // the request belongs to the only client, and not to the call
			e.postpone(r)
		case r.unnamed && e.options.OneClient && (!p.sent || r.message.Method == methodRootsList):
			e.route(nil, r)
		case r.unnamed && other != nil && p.caller != nil && other.caller == p.caller: // the request may belong to another call
			e.route(nil, r)
		case p.cancelled && p.sent: // the server gets the cancellation of the call
			e.forget(r)
		default:
			e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: the request that it belongs to is over", r.message.Method))
		}
	}
}

// releaseTurn releases the turn, so that the next call that needs it can run.
func (p *legacyCall) releaseTurn() {
	if p.holdsTurn {
		p.holdsTurn, p.yield = false, nil
		p.era.callTurn.release()
	}
}

// reply ends the present round with an outcome.
func (p *legacyCall) reply(o outcome) {
	if p.round.over != nil {
		p.round.over()
	}
	p.round.outcome <- o
	p.round = nil
}

// handle handles events, in order.
func (p *legacyCall) handle(events []event) {
	for _, ev := range events {
		switch ev.kind {
		case response:
			p.respond(ev)
		case notification:
			if p.round != nil {
				pass(p.during(), p.round.req.Peer, ev.message)
			}
		case requested:
			p.addRequest(ev)
		case withdrawn:
			ev.request.stopAsking()
			p.open = slices.DeleteFunc(p.open, func(r *serverRequest) bool { return r == ev.request })
		case answered:
			p.forward(ev)
		case attached:
			p.attach(ev.round)
		}
	}
}

// respond handles the server's response. While the call is parked, it stores the response for the
// client.
func (p *legacyCall) respond(ev event) {
	if ev.err != nil {
		if p.era.responseLost(); p.repeat(ev.err) {
			return
		}
	}
	var o outcome
	if ev.err != nil {
		o.err = p.era.failed(p.session, p.req, ev.err)
	} else {
		ctx := p.era.ctx
		if p.round != nil {
			ctx = p.round.ctx
		}
		o.result, o.err = p.era.result(ctx, p.session, p.req, ev.message)
	}
	if p.round != nil {
		p.final = &o
		return
	}
	if ev.message != nil && !p.reserve(sizeOf(ev.message), "") {
		o = outcome{err: fmt.Errorf("server %q: %s: the response came while the client was away, and is too large to be kept", p.era.options.Name, describe(p.req))}
	}
	p.early = &o
	p.era.removeCall(p.call)
	p.dropOpen() // the server no longer waits, and may use the ids again
	p.releaseTurn()
}

// repeat sends the request again if its session was lost before the server accepted the request. If
// only the response was lost, it repeats a call once, provided that a second call changes nothing.
func (p *legacyCall) repeat(err error) bool {
	lost := errors.Is(err, link.ErrSessionLost)
	noResponse := errors.Is(err, link.ErrNoResponse)
	if p.round == nil || !lost && !noResponse || p.renewed >= maxRenewals || p.era.link.Err() != nil {
		return false
	}
	if lost { // also if the call is not repeated, as the next call needs the session
		if _, err := p.era.renew(p.during(), p.session); err != nil {
			return false
		}
		p.renewed++
	}
	if noResponse && (p.resent || !p.era.tools.repeats(p.req)) {
		return false
	}
	open := p.open
	if p.resent, p.open = p.resent || noResponse, nil; noResponse {
		note.Repeat(p.round.ctx, "")
	}
	for _, r := range open {
		r.stopAsking()
		if r.unnamed { // the request may belong to another call
			p.era.route(nil, r)
		} else {
			p.era.forget(r)
		}
	}
	p.send()
	return true
}
