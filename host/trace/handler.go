package trace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Handler wraps the Handler of a server, so that t records every request to it,
// its results, and what it says and asks on the way, as JSON-RPC messages with
// ids of the trace's own. A nil t records nothing.
func Handler(next mcp.Handler, server string, t *Trace) mcp.Handler {
	if t == nil {
		return next
	}
	return &recorder{next: next, server: server, trace: t}
}

const methodListen = "subscriptions/listen"

type recorder struct {
	next   mcp.Handler
	server string
	trace  *Trace
}

// Handle records the request, hands it on, and records what comes back.
func (r *recorder) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	m := frame{server: r.server, id: r.trace.id(), method: req.Method, call: host.CallID(ctx)}
	r.tell(m, true, request, req.Params)
	if req.Peer != nil {
		watched := *req
		watched.Peer = &peer{Peer: req.Peer, recorder: r, of: m}
		req = &watched
	}
	result, err := r.next.Handle(ctx, req)
	if err != nil && req.Method == methodListen && ctx.Err() != nil {
		return result, err // it ends when nobody listens any more, which is no failure
	}
	if err != nil {
		r.tell(m, false, failure, errorBody(err))
		return result, err
	}
	body, failed := result.Encoded()
	if failed != nil {
		r.tell(m, false, failure, errorBody(failed))
		return result, nil // whoever sends it says the same
	}
	result.JSON = body // it is not encoded twice
	r.tell(m, false, response, body)
	return result, nil
}

func (r *recorder) tell(m frame, toServer bool, k kind, body json.RawMessage) {
	m.at, m.toServer, m.kind, m.body = time.Now(), toServer, k, body
	r.trace.message(m)
}

func errorBody(err error) json.RawMessage {
	e := mcp.ErrorOf(err)
	body := append([]byte(`{"code":`), jsonrpc.IntID(int64(e.Code))...)
	return append(jsonrpc.AppendString(append(body, `,"message":`...), e.Message), '}')
}

// peer is the way back of a request that is recorded.
type peer struct {
	mcp.Peer
	recorder *recorder
	of       frame
}

// Notify records the notification and passes it on.
func (p *peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	m := frame{server: p.of.server, call: p.of.call, method: method}
	p.recorder.tell(m, false, notification, params)
	return p.Peer.Notify(ctx, method, params)
}

// Ask records the question, passes it on, and records the answer.
func (p *peer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	m := frame{server: p.of.server, call: p.of.call, method: q.Method, id: `"` + p.recorder.trace.id() + `"`}
	p.recorder.tell(m, false, request, q.Params)
	answer, err := p.Peer.Ask(ctx, q)
	if err != nil {
		p.recorder.tell(m, true, failure, errorBody(err))
		return answer, err
	}
	p.recorder.tell(m, true, response, answer)
	return answer, nil
}
