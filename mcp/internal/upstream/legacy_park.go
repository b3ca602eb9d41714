package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A call to a legacy server cannot be made twice. If the client can respond to a request of the
// server only in its next round, the call is parked. It waits until the client comes back or the
// time is over. The state of the request contains a ticket that identifies the parked call.

const stateParked = "parked"

// resume continues a parked call with the client's responses.
func (e *legacy) resume(ctx context.Context, req *mcp.Request, state json.RawMessage) (mcp.Result, error) {
	ticket, _ := jsonrpc.Unquote(state)
	e.mu.Lock()
	k := e.unpark(ticket)
	e.mu.Unlock()
	r := newRound(ctx, req)
	req.State.Set(stateParked, nil) // first, as this round may park the call again
	if k == nil || !k.events.put(event{kind: attached, round: r}) {
		return mcp.Result{}, errOver
	}
	o := <-r.outcome
	return o.result, o.err
}

// park ends the round, so that the client must come back. If too many calls are parked, the call
// fails.
func (p *legacyCall) park() {
	e := p.era
	ticket := rand.Text()
	if !p.reserve(2*len(p.req.Params), ticket) { // the request that is being sent has a second copy
		p.fail(fmt.Errorf("server %q: too many or too large calls wait for their clients already: at most %d, of one client %d, of %d MiB; try again later", e.options.Name, maxParked, maxParkedOfOne, maxParkedBytes>>20))
		return
	}
	p.ticket, p.req = ticket, kept(p.req)
	for _, r := range p.open {
		r.blocked = nil // does not keep the round and its request in memory
	}
	p.expiry = time.After(cmp.Or(max(e.options.ParkTimeout, 0), parkTime))
	if p.holdsTurn {
		p.yield = time.After(turnTime)
	}
	p.round.req.State.Set(stateParked, jsonrpc.AppendString(nil, ticket))
	p.round.req.State.Bind()
	p.reply(outcome{err: mcp.ErrInputRequired})
}

// kept returns a copy of the parts of a request that a parked call needs. It has no Peer, and does
// not keep the request's message in memory.
func kept(req *mcp.Request) *mcp.Request {
	k := req.WithParams(bytes.Clone(req.Params))
	k.Meta.ProgressToken = bytes.Clone(req.Meta.ProgressToken)
	k.Peer, k.State, k.ParamHeaders = nil, nil, nil
	return k
}

// attach begins the next round, and sends the client the open requests again.
func (p *legacyCall) attach(r *round) {
	p.round, p.ticket, p.expiry, p.yield, p.settle = r, "", nil, nil, nil
	p.releaseReserved()
	if p.final = p.early; p.final != nil {
		return
	}
	for _, open := range p.open {
		p.ask(open)
	}
}

// reserve takes size bytes from the limit of all parked calls. If ticket is not empty, it also
// parks the call under it. It reports false if there is no room.
func (p *legacyCall) reserve(size int, ticket string) bool {
	e := p.era
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.parkedBytes.TakeN(p.by, size) {
		return false
	}
	if ticket != "" {
		own := 0
		for _, k := range e.parked {
			if k.caller == p.caller {
				own++
			}
		}
		if own >= maxParkedOfOne || !e.parkedPlaces.Take(p.by) {
			e.parkedBytes.GiveN(p.by, size)
			return false
		}
		e.parked[ticket] = p.call
	}
	p.reserved += size
	return true
}

// unpark removes and returns the call parked under a ticket, or returns nil. The caller holds mu.
func (e *legacy) unpark(ticket string) *call {
	k := e.parked[ticket]
	if k != nil {
		delete(e.parked, ticket)
		e.parkedPlaces.Give(k.by)
	}
	return k
}

// releaseReserved returns the bytes that reserve took.
func (p *legacyCall) releaseReserved() {
	p.era.mu.Lock()
	defer p.era.mu.Unlock()
	p.era.parkedBytes.GiveN(p.by, p.reserved)
	p.reserved = 0
}
