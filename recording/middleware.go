package recording

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	methodDiscover = "server/discover"
	methodListen   = "subscriptions/listen"
	methodPing     = "ping"

	resultInputRequired = "input_required"
)

// stateCall is where the number of a call is kept between two rounds of it.
const stateCall = "junction/recording"

// Middleware returns middleware that records what is said to one server, and what the server is: with the first request
// it asks for that itself, as a client would, if the request is another one. The name of the server need be
// unique only where a recording is of several.
func (r *Recorder) Middleware(server string) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		var known atomic.Bool // that the server was asked what it is
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !known.Swap(true) && req.Method != methodDiscover {
				discover := &mcp.Request{Method: methodDiscover, Meta: req.Meta, Caller: req.Caller, Principal: req.Principal, Session: req.Session, Peer: nobody{}}
				_, _ = r.handle(ctx, server, discover, next) // the server's answer is recorded, whatever it is
			}
			return r.handle(ctx, server, req, next)
		})
	}
}

// handle records one request.
func (r *Recorder) handle(ctx context.Context, server string, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	call := r.begin(ctx, server, req)
	recorded := *req
	recorded.Peer = &peer{Peer: req.Peer, recorder: r, call: call}
	if req.Peer == nil {
		recorded.Peer = nil
	}
	result, err := next.Handle(ctx, &recorded)
	over := &line{Call: call}
	switch outcome := mcp.OutcomeOf(ctx, &result, err); {
	case outcome == mcp.OutcomeInputRequired && result.Type != resultInputRequired:
		return result, err // the call goes on with the client's next round
	case outcome == mcp.OutcomeCancelled:
		over.Event = eventCancelled
	case err != nil:
		over.Event, over.Error = eventError, faultOf(err)
	default:
		body, fault := result.Encoded()
		if fault != nil {
			return mcp.Result{}, fault
		}
		if result.JSON == nil { // encoded once, also for who sends it
			result = result.WithJSON(body)
		}
		over.Event, over.Result, over.Type, over.Meta = eventResult, body, result.Type, result.Meta
		over.TTL, over.Scope = int64(result.TTL/time.Millisecond), string(result.Scope)
	}
	r.add(ctx, over)
	return result, err
}

// begin records that a call begins, or goes on.
func (r *Recorder) begin(ctx context.Context, server string, req *mcp.Request) (call int64) {
	if text, ok := jsonrpc.Unquote(req.State.Get(stateCall)); ok && req.Round > 0 {
		if call, err := strconv.ParseInt(text, 10, 64); err == nil && call > 0 && call <= r.calls.Load() {
			r.add(ctx, &line{Event: eventRound, Call: call})
			return call
		}
	}
	call = r.calls.Add(1)
	req.State.Set(stateCall, jsonrpc.AppendString(nil, strconv.FormatInt(call, 10)))
	l := &line{Event: eventRequest, Call: call, Server: server, Method: req.Method, Params: ownParams(req.Params), Caller: r.caller(req.Caller), Revision: req.Meta.Revision, Capabilities: declared(req.Meta.Capabilities)}
	if c := req.Meta.Client; c != nil {
		l.Client = strings.TrimSpace(c.Name + " " + c.Version)
	}
	r.add(ctx, l)
	return call
}

// ownParams are parameters without those that connect the rounds of a call.
func ownParams(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	if jsonrpc.Get(params, "inputResponses") == nil && jsonrpc.Get(params, "requestState") == nil {
		return params
	}
	return jsonrpc.Without(params, "inputResponses", "requestState")
}

func faultOf(err error) *fault {
	e := mcp.ErrorOf(err)
	return &fault{Code: e.Code, Message: e.Message, Data: e.Data}
}

// A peer records what goes to the client, and comes back.
type peer struct {
	mcp.Peer
	recorder *Recorder
	call     int64
	asked    atomic.Int64
}

// Notify sends a notification.
func (p *peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.recorder.add(ctx, &line{Event: eventNotification, Call: p.call, Method: method, Params: params})
	return p.Peer.Notify(ctx, method, params)
}

// Ask sends a request. Of one that the client will respond to in its next round there is no response yet.
func (p *peer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	n := p.asked.Add(1)
	p.recorder.add(ctx, &line{Event: eventServerRequest, Call: p.call, Ask: n, Key: q.Key, Method: q.Method, Params: q.Params})
	result, err := p.Peer.Ask(ctx, q)
	switch {
	case errors.Is(err, mcp.ErrInputRequired) || err != nil && ctx.Err() != nil:
	case err != nil:
		p.recorder.add(ctx, &line{Event: eventClientResponse, Call: p.call, Ask: n, Error: faultOf(err)})
	default:
		p.recorder.add(ctx, &line{Event: eventClientResponse, Call: p.call, Ask: n, Result: result})
	}
	return result, err
}

// Disconnect is that of the client's Peer, if it has one.
func (p *peer) Disconnect() {
	if d, ok := p.Peer.(interface{ Disconnect() }); ok {
		d.Disconnect()
	}
}

// nobody is the Peer of a request that the Recorder makes.
type nobody struct{}

func (nobody) Notify(context.Context, string, json.RawMessage) error { return nil }

func (nobody) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "%s: there is nobody to ask", q.Method)
}
