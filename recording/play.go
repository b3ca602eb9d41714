package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// stateReplay is the key under which a call's state carries its place from one round to the next.
const stateReplay = "junction/replay"

// A place is the step at which a call continues in the next round.
type place struct {
	Line int `json:"line"` // line of the call's beginning
	Step int `json:"step"`
}

// resumed returns the call that a request continues in a later round, and the step to continue
// from. It returns nil for any other request.
func (p *Replay) resumed(req *mcp.Request) (c *call, from int, pairs []pair) {
	var at place
	if req.Round == 0 || schema.DecodeLoose(req.State.Get(stateReplay), &at) != nil {
		return nil, 0, nil
	}
	for _, c := range p.log[subjectOf(req.Method, req.Params)] {
		if c.line == at.Line && at.Step >= 0 && at.Step < len(c.steps) {
			compare := comparison{templates: true}
			if compare.params(c.params, req.Params) {
				return c, at.Step, compare.pairs
			}
		}
	}
	return nil, 0, nil
}

// play performs the server's steps of a call, beginning at index from, and returns the response.
func (p *Replay) play(ctx context.Context, req *mcp.Request, c *call, from int, pairs []pair) (mcp.Result, error) {
	p.note(p.begun, c)
	said := substitute(pairs)
	for i, s := range c.steps[from:] {
		if i > 0 || from == 0 { // a later round has already waited for this pause
			if err := p.sleep(ctx, s.pause); err != nil {
				return mcp.Result{}, err
			}
		}
		switch s.kind {
		case eventNotification:
			if req.Peer == nil || s.lost {
				continue
			}
			if err := req.Peer.Notify(ctx, s.method, said.json(s.params)); err != nil {
				return mcp.Result{}, err
			}
		case eventServerRequest:
			if err := p.askAll(ctx, req, c, s.asks, said); err != nil {
				if errors.Is(err, mcp.ErrInputRequired) {
					state, fault := json.Marshal(place{c.line, from + i})
					if fault != nil {
						return mcp.Result{}, fault
					}
					req.State.Set(stateReplay, state)
				}
				return mcp.Result{}, err
			}
		case eventResult:
			p.note(p.ended, c)
			if s.lost {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the result was too long to be recorded")
			}
			result := s.result
			result.JSON = said.json(result.JSON)
			return result, nil
		case eventError:
			p.note(p.ended, c)
			return mcp.Result{}, &mcp.Error{Code: s.err.Code, Message: s.err.Message, Data: said.json(s.err.Data)}
		case eventCancelled:
			defer p.note(p.ended, c)
			if err := idle.Wait(ctx, cancelTime); err != nil {
				return mcp.Result{}, err
			}
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the recording has no response to this call, because its client cancelled it")
		}
	}
	p.note(p.ended, c)
	return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the recording ends before the response to this call")
}

// askAll sends the simultaneous requests of the server to the client.
func (p *Replay) askAll(ctx context.Context, req *mcp.Request, c *call, asks []*ask, said substitution) error {
	if req.Peer == nil {
		return nil
	}
	failed := make(chan error, len(asks))
	var asking sync.WaitGroup
	for _, a := range asks {
		asking.Go(func() {
			result, err := req.Peer.Ask(ctx, mcp.ServerRequest{Key: a.key, Method: a.method, Params: said.json(a.params)})
			if errors.Is(err, mcp.ErrInputRequired) {
				failed <- err
				return
			}
			p.compare(c, a, result, err)
		})
	}
	asking.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return context.Cause(ctx)
	}
}

// compare records a difference if the client's response differs from the recorded one.
func (p *Replay) compare(c *call, a *ask, result json.RawMessage, err error) {
	if !p.options.Strict || !a.answered {
		return
	}
	compare := comparison{templates: true}
	is := "an error"
	switch {
	case err != nil && a.err != nil:
		return
	case err == nil && a.err == nil && compare.params(a.result, result):
		return
	case err == nil:
		is = describeParams(result)
	}
	was := "an error"
	if a.err == nil {
		was = describeParams(a.result)
	}
	p.differ(fmt.Sprintf("in %s the client responds to %s with %s, but the recording has %s", describe(c.method, c.params), a.method, is, was))
}

// note adds a call to what, which is p.begun or p.ended. Messages of the server that follow the
// beginning or end may then be sent.
func (p *Replay) note(what map[*call]bool, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !what[c] {
		what[c] = true
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// sleep waits for a recorded pause.
func (p *Replay) sleep(ctx context.Context, milliseconds float64) error {
	if p.options.Speed == 0 {
		return context.Cause(ctx)
	}
	pause := milliseconds / p.options.Speed * float64(time.Millisecond)
	return idle.Wait(ctx, time.Duration(min(pause, float64(maxPause))))
}
