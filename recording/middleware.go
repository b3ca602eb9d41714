package recording

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	methodDiscover = "server/discover"
	methodListen   = "subscriptions/listen"
	methodPing     = "ping"
)

// stateCall is the key under which a call's state carries its number from one round to the next.
const stateCall = "junction/recording"

// Middleware returns middleware that records the requests to one server and the server's
// description. If the first request does not ask for the description, the middleware requests it.
// If several servers are recorded, each needs a different name.
func (r *Recorder) Middleware(server string) mcp.Middleware {
	tap := event.Tap(&source{r, server})
	return func(next mcp.Handler) mcp.Handler {
		recorded := tap(next)
		var known atomic.Bool // whether the description has been requested
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !known.Swap(true) && req.Method != methodDiscover {
				discover := &mcp.Request{Method: methodDiscover, Meta: req.Meta, Caller: req.Caller, Principal: req.Principal, Session: req.Session, Peer: mcp.NoPeer{}}
				_, _ = recorded.Handle(ctx, discover) // the response is recorded even if it is an error
			}
			return recorded.Handle(ctx, req)
		})
	}
}

// A source is a server whose messages are recorded.
type source struct {
	recorder *Recorder
	server   string
}

// Watching implements [event.Sink].
func (*source) Watching() bool { return true }

// Begin implements [event.Sink].
func (s *source) Begin(ctx context.Context, request event.Step) (context.Context, event.Call) {
	return ctx, &recordedCall{recorder: s.recorder, number: s.recorder.begin(ctx, s.server, request.Request)}
}

// A recordedCall records the events of a call after its request.
type recordedCall struct {
	recorder *Recorder
	number   int64
	asked    atomic.Int64
}

// NextID implements [event.Call].
func (c *recordedCall) NextID() int64 { return c.asked.Add(1) }

// Step implements [event.Call].
func (c *recordedCall) Step(ctx context.Context, s event.Step) {
	l := &line{Call: c.number, Ask: s.ID}
	switch {
	case s.Kind == event.Pending, s.Kind == event.Cancelled && s.ToServer: // the call continues, or the event cannot be replayed
		return
	case s.Kind == event.Notification:
		l.Event, l.Method, l.Params = eventNotification, s.Method, s.Body
	case s.Kind == event.Question:
		l.Event, l.Key, l.Method, l.Params = eventServerRequest, s.Key, s.Method, s.Body
	case s.Kind == event.Answer:
		l.Event, l.Result = eventClientResponse, s.Body
	case s.ToServer:
		l.Event, l.Error = eventClientResponse, faultOf(s.Err)
	case s.Kind == event.Cancelled:
		l.Event = eventCancelled
	case s.Kind == event.Failure:
		l.Event, l.Error = eventError, faultOf(s.Err)
	default:
		r := s.Result
		l.Event, l.Result, l.Type, l.Meta = eventResult, s.Body, r.Type, r.Meta
		l.TTL, l.Scope = int64(r.TTL/time.Millisecond), string(r.Scope)
	}
	c.recorder.add(ctx, l)
}

// begin records the beginning of a call or of another round, and returns the number of the call.
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

// ownParams returns parameters without the members that connect the rounds of a call.
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
