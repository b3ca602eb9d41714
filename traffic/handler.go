package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Handler shows what is asked of a Handler in this process, under that name, as [Log.Server] does of a connection. There are
// no messages, so they are made, in the form of the modern revision, while somebody watches.
func (l *Log) Handler(name string, next mcp.Handler) mcp.Handler {
	h := &hop{log: l, name: Server, server: name}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if !h.Watching() {
			return next.Handle(ctx, req)
		}
		return h.handle(ctx, req, next)
	})
}

// inProcess is how messages travel that are none.
const inProcess = "process"

func (h *hop) handle(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	id := jsonrpc.ID(strconv.FormatUint(h.log.asked.Add(1), 10))
	seen := h.Passes(ctx, mcp.WireMessage{ToServer: true, Message: made(id, req.Method, req.Params), Transport: inProcess})
	shown := *req
	if req.Peer != nil {
		shown.Peer = &peer{Peer: req.Peer, hop: h, seen: seen}
	}
	result, err := next.Handle(seen, &shown)
	body, unready := json.RawMessage(`{"resultType":"input_required"}`), errors.Is(err, mcp.ErrInputRequired)
	if err == nil {
		if body, err = result.Encoded(); err == nil {
			result.JSON = body // encoded once
		}
	}
	message := jsonrpc.AppendResult(nil, id, body)
	if err != nil && !unready {
		message = failed(id, err)
	}
	h.Passes(seen, mcp.WireMessage{Message: message, Transport: inProcess})
	return result, err
}

// made is a message; without an id it is a notification.
func made(id jsonrpc.ID, method string, params json.RawMessage) []byte {
	w := jsonrpc.NewObject(nil)
	w.String("jsonrpc", "2.0")
	if !id.IsZero() {
		w.ID("id", id)
	}
	w.String("method", method)
	if params != nil {
		w.Raw("params", params)
	}
	return w.Bytes()
}

// failed is the message that a request failed.
func failed(id jsonrpc.ID, err error) []byte {
	e := mcp.ErrorOf(err)
	return jsonrpc.AppendError(nil, id, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data})
}

// A peer shows what a Handler in this process says to its client, and asks it.
type peer struct {
	mcp.Peer
	hop  *hop
	seen context.Context
}

// Notify implements [mcp.Peer].
func (p *peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.hop.Passes(p.seen, mcp.WireMessage{Message: made("", method, params), Transport: inProcess})
	return p.Peer.Notify(ctx, method, params)
}

// Ask implements [mcp.Peer].
func (p *peer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	id := jsonrpc.ID(strconv.FormatUint(p.hop.log.asked.Add(1), 10))
	p.hop.Passes(p.seen, mcp.WireMessage{Message: made(id, q.Method, q.Params), Transport: inProcess})
	response, err := p.Peer.Ask(ctx, q)
	switch {
	case err == nil:
		p.hop.Passes(p.seen, mcp.WireMessage{ToServer: true, Message: jsonrpc.AppendResult(nil, id, response), Transport: inProcess})
	case !errors.Is(err, mcp.ErrInputRequired):
		p.hop.Passes(p.seen, mcp.WireMessage{ToServer: true, Message: failed(id, err), Transport: inProcess})
	}
	return response, err
}

// Disconnect is what [mcp.Disconnect] calls.
func (p *peer) Disconnect() {
	if d, can := p.Peer.(interface{ Disconnect() }); can {
		d.Disconnect()
	}
}
