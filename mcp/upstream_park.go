package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// A call to a legacy server cannot be made twice. When the server asks something
// that the client will only answer with its next round, the call is parked: it
// goes on waiting here, under a ticket that travels in the request's state,
// until the client comes back or its time is up.

const stateParked = "parked"

// errGivenUp is why a parked call ends.
var errGivenUp = errors.New("the client did not come back with an answer")

// parking holds the parked calls of one connection by ticket.
type parking struct {
	mu    sync.Mutex
	calls map[string]*legacyCall
}

// A legacyCall is one call to a legacy server, parked or not.
type legacyCall struct {
	era      *legacyEra
	call     *upcall
	cancel   context.CancelCauseFunc
	response chan struct{} // closed when message and err are there
	message  *jsonrpc.Message
	err      error

	stuck chan struct{} // a token: a question cannot be answered in this round
	timer *time.Timer   // while parked

	mu    sync.Mutex
	open  map[jsonrpc.ID]*Question // that the server waits for
	round int                      // counts the client's rounds; a question of an earlier one makes none stuck
}

// await waits for the call's response, as long as it needs no other round.
func (e *legacyEra) await(ctx context.Context, req *Request, p *legacyCall) (Result, error) {
	for {
		select {
		case <-p.response:
			return e.responded(req, p)
		case <-p.stuck:
		case <-ctx.Done():
			p.cancel(context.Cause(ctx))
			<-p.response
			return Result{}, context.Cause(ctx)
		}
		settle := time.NewTimer(settleTime) // another question may come with this one
		select {
		case <-p.response:
			settle.Stop()
			return e.responded(req, p)
		case <-settle.C:
		}
		if p.asks() {
			return e.setAside(req, p)
		}
	}
}

// asks reports whether the server still waits for an answer: it may have taken the
// question back.
func (p *legacyCall) asks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) > 0
}

// setAside parks the call and tells the client to come back.
func (e *legacyEra) setAside(req *Request, p *legacyCall) (Result, error) {
	ticket, err := e.park(p)
	if err != nil {
		p.cancel(err)
		<-p.response
		return Result{}, err
	}
	req.State.Set(stateParked, jsonrpc.AppendString(nil, ticket))
	return Result{}, ErrInputRequired
}

func (e *legacyEra) responded(req *Request, p *legacyCall) (Result, error) {
	if p.err != nil {
		return Result{}, e.failed(req, p.err)
	}
	return e.answer(req, p.message)
}

// park puts the call aside and returns its ticket.
func (e *legacyEra) park(p *legacyCall) (string, error) {
	p.call.detach()
	ticket := rand.Text()
	e.parking.mu.Lock()
	defer e.parking.mu.Unlock()
	if len(e.parking.calls) >= maxParked {
		return "", fmt.Errorf("server %q: %d calls wait for their clients already", e.name, maxParked)
	}
	e.parking.calls[ticket] = p
	p.timer = time.AfterFunc(e.options.parkTimeout(), func() {
		if e.take(ticket) != nil {
			p.cancel(errGivenUp)
		}
	})
	return ticket, nil
}

// take takes a call back; nil if its time was up or another round has it.
func (e *legacyEra) take(ticket string) *legacyCall {
	e.parking.mu.Lock()
	defer e.parking.mu.Unlock()
	p := e.parking.calls[ticket]
	delete(e.parking.calls, ticket)
	return p
}

// resume goes on with a parked call: the server gets the answers that came.
func (e *legacyEra) resume(ctx context.Context, req *Request, state json.RawMessage) (Result, error) {
	ticket, _ := jsonrpc.Unquote(state)
	p := e.take(ticket)
	if p == nil {
		return Result{}, Errorf(CodeInvalidParams, "requestState: the call it belongs to is over or was given up; send the request again without it")
	}
	p.timer.Stop()
	req.State.Set(stateParked, nil)
	p.call.attach(ctx, req)
	p.mu.Lock()
	p.round++
	select {
	case <-p.stuck: // by the second question of the round before
	default:
	}
	for id, q := range p.open {
		p.answer(id, q)
	}
	p.mu.Unlock()
	return e.await(ctx, req, p)
}

// ask takes a question of the server.
func (p *legacyCall) ask(m *jsonrpc.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) >= maxOpenQuestions {
		p.era.refuse(m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "%d questions of this call are open already", maxOpenQuestions))
		return
	}
	q := &Question{Key: "ask-" + strings.Trim(string(m.ID), `"`), Method: m.Method, Params: m.Params}
	p.open[m.ID] = q
	p.answer(m.ID, q)
}

// maxOpenQuestions is how many questions of one call may wait for the client.
const maxOpenQuestions = 64

// answer asks the client of the present round. p.mu is held.
func (p *legacyCall) answer(id jsonrpc.ID, q *Question) {
	ctx, req := p.call.round()
	if req == nil {
		return // parked: the next round asks
	}
	round := p.round
	p.era.run(func() {
		answer, err := req.Peer.Ask(ctx, *q)
		if errors.Is(err, ErrInputRequired) {
			p.stick(round)
			return
		}
		p.mu.Lock()
		_, wanted := p.open[id]
		delete(p.open, id)
		p.mu.Unlock()
		switch {
		case !wanted:
		case err != nil:
			p.era.refuse(id, asFault(err))
		default:
			p.era.respond(jsonrpc.AppendResult(nil, id, answer))
		}
	})
}

// stick makes the round that asked stuck, unless it is over.
func (p *legacyCall) stick(round int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if round != p.round {
		return
	}
	select {
	case p.stuck <- struct{}{}:
	default:
	}
}

// withdrawn forgets a question that the server takes back.
func (e *legacyEra) withdrawn(id jsonrpc.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		if c.legacy == nil {
			continue
		}
		p := c.legacy
		p.mu.Lock()
		delete(p.open, id)
		p.mu.Unlock()
	}
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

func (o *ClientOptions) parkTimeout() time.Duration {
	if o.ParkTimeout > 0 {
		return o.ParkTimeout
	}
	return parkTime
}
