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

// A serverRequest is a request of the server that it waits for the response to.
type serverRequest struct {
	message *jsonrpc.Message
	call    *call
	unnamed bool // it came without an association
	turn    bool // the era's turn was taken for it, and not yet handed to the call

	// Of the goroutine that owns the call:
	key     string             // under which the client is asked; a server may use an id again
	stop    context.CancelFunc // ends asking the client; nil while nobody is asked
	blocked *round             // the round in which the client could not respond, if any
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
	if r.turn && !p.holdsTurn { // the first one: it had no turn to wait for
		p.holdsTurn, r.turn = true, false
	}
	p.era.dropTurn(r)
	if len(p.open) >= maxRequested {
		p.era.forget(r)
		p.era.refuse(r.message.ID, jsonrpc.Errorf(jsonrpc.InternalError, "%d requests of this call are open already", maxRequested))
		return
	}
	p.taken++
	r.key = "ask-" + strings.Trim(string(r.message.ID), `"`) + "-" + strconv.Itoa(p.taken)
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
	events, round, m := &p.events, p.round, r.message
	p.era.spawn(func() {
		q := mcp.ServerRequest{Key: r.key, Method: m.Method, Params: m.Params}
		result, err := round.req.Peer.Ask(ctx, q)
		events.put(event{kind: answered, request: r, result: result, err: err, round: round})
	})
}

// forward passes the client's response on to the server.
func (p *legacyCall) forward(ev event) {
	r := ev.request
	i := slices.Index(p.open, r)
	switch {
	case i < 0: // withdrawn
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
	p.era.forget(r)
	if ev.err != nil {
		p.era.refuse(r.message.ID, faultToServer(ev.err))
		return
	}
	if !p.sent && p.held == nil {
		p.held = time.After(heldTime)
	}
	p.era.conn.respond(jsonrpc.AppendResult(nil, r.message.ID, ev.result))
}
