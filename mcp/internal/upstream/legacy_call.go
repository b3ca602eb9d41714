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
	maxRequested   = 64    // requests of the server that one call has open
	maxParked      = 1_024 // parked calls
	maxParkedOfOne = 256   // of one client: it need not come back

	maxParkedBytes = 32 << 20 // of their parameters, and of the responses that wait for their clients

	parkTime    = 10 * time.Minute      // how long a call is parked
	turnTime    = 20 * time.Second      // the same while calls of others wait for its turn
	maxRenewals = 3                     // sessions that one call begins, where servers lose them
	settleTime  = 20 * time.Millisecond // how long to wait for another request before a call is parked
)

var (
	errGivenUp = errors.New("the client did not come back with a response")
	errOver    = mcp.Errorf(mcp.CodeInvalidParams, "requestState: the call it belongs to is over or was given up; send the request again without it")
)

// A round is one request of the client within a call.
type round struct {
	ctx     context.Context
	req     *mcp.Request
	outcome chan outcome // gets exactly one

	// Of the goroutine that owns the call:
	during context.Context // see legacyCall.during
	over   func()          // ends it
}

func newRound(ctx context.Context, req *mcp.Request) *round {
	return &round{ctx: ctx, req: req, outcome: make(chan outcome, 1)}
}

type outcome struct {
	result mcp.Result
	err    error
}

// A legacyCall owns one call to a legacy server: all its fields belong to run, which
// the goroutine of the client's request does until the call is parked, and then one
// of the connection's.
type legacyCall struct {
	*call
	era          *legacy
	session      *session
	req          *mcp.Request // of the first round
	cancel       context.CancelCauseFunc
	holdsTurn    bool // the era's callTurn
	sent         bool // what waited for this call is answered first
	cancelled    bool
	ownGoroutine bool // run has a goroutine of its own
	holds        int  // how often it was held
	renewed      int  // how often a new session was begun for it
	resent       bool // after its response was lost

	round    *round // nil while the call is parked
	ticket   string // while it is parked
	open     []*serverRequest
	reserved int              // bytes that reserve took while it is parked
	taken    int              // requests of the server so far
	early    *outcome         // of the call: it came while it was parked
	final    *outcome         // of the call: it is over
	settle   <-chan time.Time // the call is parked then
	expiry   <-chan time.Time // a parked call is given up then
	yield    <-chan time.Time // and then, where others wait for its turn
	held     <-chan time.Time // the request is sent then
	unlisted <-chan time.Time // of a list: what waits for another call is refused then
}

// begin makes a call and waits until its first round is over.
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

// during is the context of what happens in the present round: it also ends with the
// connection, and with the round.
func (p *legacyCall) during() context.Context {
	if r := p.round; r.during == nil {
		r.during, r.over = p.era.whileOpen(r.ctx)
	}
	return p.round.during
}

// run sends the request and handles what happens to it until it is over.
func (p *legacyCall) run() {
	over := true
	defer func() {
		if over { // or a Peer panicked
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

// serve is run until the call is over, or parked for the first time; then it reports
// false.
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
	p.handle(p.events.take()) // what came before the response was noticed
	switch {
	case p.round == nil:
	case p.final != nil:
		p.reply(*p.final)
	default: // it came back while the connection was closed
		p.reply(outcome{err: p.era.failed(p.session, p.req, mcp.ErrClosed)})
	}
	return true
}

// closed ends the call with the connection: with its response, if that has come.
func (p *legacyCall) closed() {
	for p.sent && p.final == nil && p.early == nil {
		<-p.events.ready // the exchange ends with the connection, and says so
		p.handle(p.events.take())
	}
	if p.final == nil {
		p.fail(p.era.failed(p.session, p.req, mcp.ErrClosed))
	}
}

// fail ends the call and its round, if there is one.
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

// send sends the request. Its time is the connection's, as the call may outlive
// the round that began it.
func (p *legacyCall) send() {
	p.sent = true
	p.session = p.era.session.Load()
	p.call.session = p.session
	if p.era.options.OneClient && isList(p.method) {
		p.unlisted = time.After(listWaitTime)
	}
	if p.cancel != nil { // of the exchange before
		p.cancel(nil)
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancelCause(callContext{p.era.open, p.round.ctx})
	params := legacyParams(p.id, p.req)
	p.era.exchange(ctx, p.call, link.Out{ID: p.id, Method: p.method, Session: p.session.id, Arrives: true, Header: p.era.header(p.session, p.method, p.req.Name),
		Message: jsonrpc.AppendRequest(nil, p.id, p.method, params)})
}

// finish lets go of everything; a round that comes too late learns that the call
// is over.
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

// dropOpen lets go of what the server asked, as the call is over.
func (p *legacyCall) dropOpen() {
	e, open := p.era, p.open
	p.open = nil
	for _, r := range open {
		r.stopAsking()
		other, _ := e.unnamed()
		switch {
		case r.waited: // it is of no call, but of the one client
			e.postpone(r)
		case r.unnamed && e.options.OneClient && (!p.sent || r.message.Method == methodRootsList):
			e.route(nil, r)
		case r.unnamed && other != nil && p.caller != nil && other.caller == p.caller: // it may belong to another call
			e.route(nil, r)
		case p.cancelled && p.sent: // the server hears that the call is
			e.forget(r)
		default:
			e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: the request that it belongs to is over", r.message.Method))
		}
	}
}

// releaseTurn lets the next call that may ask run.
func (p *legacyCall) releaseTurn() {
	if p.holdsTurn {
		p.holdsTurn, p.yield = false, nil
		p.era.callTurn.release()
	}
}

// reply ends the present round.
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

// respond takes the server's response. While the call is parked it waits for
// the client.
func (p *legacyCall) respond(ev event) {
	if ev.err != nil && p.repeat(ev.err) {
		return
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
	p.dropOpen() // the server does not wait any more, and may use the ids again
	p.releaseTurn()
}

// repeat sends the request again after its session was lost, where the server
// did not take it, or once after its response was lost, where a second call
// changes nothing.
func (p *legacyCall) repeat(err error) bool {
	lost := errors.Is(err, link.ErrSessionLost)
	noResponse := errors.Is(err, link.ErrNoResponse)
	if p.round == nil || !lost && !noResponse || p.renewed >= maxRenewals || p.era.link.Err() != nil {
		return false
	}
	if lost { // also where the call is not repeated: the next one needs the session
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
		if r.unnamed { // it may belong to another call
			p.era.route(nil, r)
		} else {
			p.era.forget(r)
		}
	}
	p.send()
	return true
}
