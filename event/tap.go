package event

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Tap returns middleware that passes the steps of each request to a Sink. It encodes the results
// that it returns.
func Tap(sink Sink) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !sink.Watching() {
				return next.Handle(ctx, req)
			}
			return handle(ctx, sink, req, next)
		})
	}
}

// A tapped holds a request that a Sink observes and its result, in one allocation.
type tapped struct {
	req    mcp.Request
	peer   peer
	result mcp.Result
}

// pending is the body of a [Pending] step. It lacks the server's questions, which the edge adds to
// the result after the Handler has returned.
const pending = `{"resultType":"input_required"}`

func handle(ctx context.Context, sink Sink, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	ctx, call := sink.Begin(ctx, Step{Kind: Request, ToServer: true, Method: req.Method, Body: req.Params, Request: req})
	t := &tapped{req: *req, peer: peer{req.Peer, call, req}}
	if req.Peer != nil {
		t.req.Peer = &t.peer
	}
	var err error
	t.result, err = next.Handle(ctx, &t.req)
	if err == nil {
		t.result.JSON, err = t.result.Encoded()
	}
	end := Step{Kind: Response, Method: req.Method, Body: t.result.JSON, Request: req, Result: &t.result}
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		end.Kind, end.Body, end.Result = Pending, json.RawMessage(pending), nil
	case err != nil:
		end.fail(err, mcp.OutcomeOf(ctx, &t.result, err) == mcp.OutcomeCancelled)
	}
	call.Step(ctx, end)
	return t.result, err
}

// fail makes s a Failure with the error, or a Cancelled if cancelled is set.
func (s *Step) fail(err error, cancelled bool) {
	if s.Kind = Failure; cancelled {
		s.Kind = Cancelled
	}
	e := mcp.ErrorOf(err)
	w := jsonrpc.NewObject(nil)
	w.Int("code", int64(e.Code))
	w.String("message", e.Message)
	if e.Data != nil {
		w.Raw("data", e.Data)
	}
	s.Body, s.Result, s.Err = w.Bytes(), nil, err
}

// A peer is the Peer of a request that a Sink observes.
type peer struct {
	mcp.Peer
	call Call
	req  *mcp.Request
}

// Notify implements [mcp.Peer].
func (p *peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.call.Step(ctx, Step{Kind: Notification, Method: method, Body: params, Request: p.req})
	return p.Peer.Notify(ctx, method, params)
}

// Ask implements [mcp.Peer]. It passes no Answer to the Sink if the client responds in its next
// round.
func (p *peer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	s := Step{Kind: Question, ID: p.call.NextID(), Method: q.Method, Key: q.Key, Body: q.Params, Request: p.req}
	p.call.Step(ctx, s)
	result, err := p.Peer.Ask(ctx, q)
	if errors.Is(err, mcp.ErrInputRequired) {
		return result, err
	}
	s.Kind, s.ToServer, s.Body = Answer, true, result
	if err != nil {
		s.fail(err, ctx.Err() != nil)
	}
	p.call.Step(ctx, s)
	return result, err
}

// Unwrap implements the method that [mcp.PeerAs] needs.
func (p *peer) Unwrap() mcp.Peer { return p.Peer }
