package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/model"
)

// Model plays a script. It is safe for concurrent use; concurrent requests use turns in the order
// of their arrival.
type Model struct {
	info   model.Info
	turns  []Turn
	always Turn

	mu       sync.Mutex
	requests []*model.Request
	next     int // index of the next turn
	calls    int // number of calls for which an id was generated
}

// New returns a model that plays the turns in order. If there are more requests than turns, the
// others fail.
func New(turns ...Turn) *Model { return &Model{info: about(), turns: turns} }

// Always returns a model that plays the same turn for every request, usually a function of the
// request. turn must be safe for concurrent use.
func Always(turn Turn) *Model { return &Model{info: about(), always: turn} }

func about() model.Info {
	return model.Info{Provider: "scripted", Name: "scripted", Language: true}
}

// As returns a model that plays the same script from the beginning, has no stored requests, and has
// the given description, for example with a price, a context window or a maximum number of tools.
func (m *Model) As(info model.Info) *Model {
	return &Model{info: info, turns: m.turns, always: m.always}
}

// Info returns the description of the model. By default the model is called scripted, has no limits
// and is free of charge.
func (m *Model) Info() model.Info { return m.info }

// Requests returns copies of all requests so far, including rejected ones, as they were when they
// arrived.
func (m *Model) Requests() []*model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Remaining returns the number of turns that were not played yet. A test can require that it is 0.
func (m *Model) Remaining() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.turns) - m.next
}

// Generate plays the next turn. If [model.Check] rejects the request, Generate does not use a turn,
// and returns a [model.Error] with status 400 that wraps [model.ErrInvalid].
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn, err := m.take(req)
	if err != nil {
		return nil, &model.Error{Provider: m.info.Provider, Status: http.StatusBadRequest, Err: err}
	}
	resp, err := turn(ctx, req)
	if resp == nil {
		if err == nil {
			err = fmt.Errorf("%s: the turn returned neither a response nor an error", m.info.Provider)
		}
		return nil, err
	}
	m.complete(req, resp)
	if stopped := stream(ctx, &resp.Message, emit); stopped != nil {
		return nil, stopped
	}
	return resp, err
}

// take stores the request and returns the turn to play.
func (m *Model) take(req *model.Request) (Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if req != nil {
		m.requests = append(m.requests, kept(req))
	}
	if err := model.Check(req); err != nil {
		return nil, err
	}
	if m.always != nil {
		return m.always, nil
	}
	if m.next == len(m.turns) {
		return nil, fmt.Errorf("the script has %d turns, and this request comes after the last", len(m.turns))
	}
	m.next++
	return m.turns[m.next-1], nil
}

// complete sets the fields that the turn left empty.
func (m *Model) complete(req *model.Request, resp *model.Response) {
	resp.Message.Role = model.RoleAssistant
	calls := resp.Message.Calls()
	for _, c := range calls {
		if c.ID == "" {
			c.ID = m.newID()
		}
		if c.Arguments == nil {
			c.Arguments = json.RawMessage("{}")
		}
	}
	if resp.Stop == "" {
		resp.Stop = model.StopEnd
		if len(calls) > 0 {
			resp.Stop = model.StopCalls
		}
	}
	if resp.Model == "" {
		resp.Model = m.info.Name
	}
	if resp.Usage == (model.Usage{}) {
		resp.Usage = model.Usage{Input: model.EstimateTokens(size(req.System, req.Tools, req.Messages)), Output: model.EstimateTokens(size(resp.Message.Parts)), Estimated: true}
	}
}

func (m *Model) newID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return fmt.Sprintf("call_%d", m.calls)
}

// stream emits the message in pieces: texts in words, and arguments in halves.
func stream(ctx context.Context, message *model.Message, emit func(model.Delta)) error {
	if emit == nil {
		return ctx.Err()
	}
	calls := 0
	for i := range message.Parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &message.Parts[i]
		switch {
		case p.Text != "":
			for word := range strings.SplitAfterSeq(p.Text, " ") {
				emit(model.Delta{Text: word})
			}
		case p.Reasoning != nil:
			for word := range strings.SplitAfterSeq(p.Reasoning.Text, " ") {
				emit(model.Delta{Reasoning: word})
			}
		case p.Call != nil:
			text := string(p.Call.Arguments)
			emit(model.Delta{Call: &model.CallDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name, Arguments: text[:len(text)/2]}})
			emit(model.Delta{Call: &model.CallDelta{Index: calls, Arguments: text[len(text)/2:]}})
			calls++
		}
	}
	return ctx.Err()
}
