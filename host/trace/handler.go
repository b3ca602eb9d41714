package trace

import (
	"context"
	"encoding/json"
	"time"

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

type recorder struct {
	next   mcp.Handler
	server string
	trace  *Trace
}

// Handle records the request, hands it on, and records what comes back.
func (r *recorder) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	m := Message{Server: r.server, ID: r.trace.id(), Method: req.Method}
	if req.Method == "tools/call" {
		m.CallID = r.trace.callOf(r.server, req.Name, req.Arguments)
	}
	r.tell(m, ToServer, Request, req.Params)
	if req.Peer != nil {
		watched := *req
		watched.Peer = &peer{Peer: req.Peer, recorder: r, of: m}
		req = &watched
	}
	result, err := r.next.Handle(ctx, req)
	if err != nil {
		r.tell(m, FromServer, Failure, errorBody(err))
		return result, err
	}
	body, failed := result.Encoded()
	if failed != nil {
		r.tell(m, FromServer, Failure, errorBody(failed))
		return result, nil // whoever sends it says the same
	}
	result.JSON = body // it is not encoded twice
	r.tell(m, FromServer, Response, body)
	return result, nil
}

func (r *recorder) tell(m Message, d Direction, k Kind, body json.RawMessage) {
	m.At, m.Direction, m.Kind, m.Body = time.Now(), d, k, body
	r.trace.Message(m)
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
	of       Message
}

// Notify records the notification and passes it on.
func (p *peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	m := Message{Server: p.of.Server, CallID: p.of.CallID, Method: method}
	p.recorder.tell(m, FromServer, Notification, params)
	return p.Peer.Notify(ctx, method, params)
}

// Ask records the question, passes it on, and records the answer.
func (p *peer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	m := Message{Server: p.of.Server, CallID: p.of.CallID, Method: q.Method, ID: `"` + p.recorder.trace.id() + `"`}
	p.recorder.tell(m, FromServer, Request, q.Params)
	answer, err := p.Peer.Ask(ctx, q)
	if err != nil {
		p.recorder.tell(m, ToServer, Failure, errorBody(err))
		return answer, err
	}
	p.recorder.tell(m, ToServer, Response, answer)
	return answer, nil
}
