package edge

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// Modern handles one request of the modern era and appends the reply to dst. The context must end
// when the client cancels the request.
func (e *Edge) Modern(ctx context.Context, dst []byte, m *jsonrpc.Message, from From) Reply {
	meta, fault := e.ReadMeta(m, "")
	if fault != nil {
		l := e.lineOf(&meta.meta)
		ctx = l.takes(ctx, m, from.Carrier)
		return l.reply(ctx, dst, refuse(dst, m.ID, fault))
	}
	return e.Call(ctx, dst, m, &meta, from)
}

// Call is like [Edge.Modern] for a request whose metadata has been read.
func (e *Edge) Call(ctx context.Context, dst []byte, m *jsonrpc.Message, meta *ModernMeta, from From) Reply {
	l := e.lineOf(&meta.meta)
	ctx = l.takes(ctx, m, from.Carrier)
	c, fault := e.newCall(ctx, m, meta, from)
	if fault != nil {
		return l.reply(ctx, dst, refuse(dst, m.ID, fault))
	}
	result, err := e.handler.Handle(ctx, &c.req)
	return l.reply(ctx, dst, c.reply(ctx, dst, meta.revision, &result, err))
}

func (e *Edge) newCall(ctx context.Context, m *jsonrpc.Message, meta *ModernMeta, from From) (*modernCall, *jsonrpc.Error) {
	if instead := removed(m.Method); instead != "" {
		return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "method %q does not exist in %s: %s", m.Method, meta.revision.Name, instead)
	}
	c := &modernCall{edge: e, id: m.ID, way: from.Way, outlet: outlet{out: from.Out, line: e.lineOf(&meta.meta)}}
	setRequest(&c.req, m, &meta.meta, &from)
	c.req.Peer = c
	if m.Method == methodListen {
		c.caller = share.Of(ctx)
		held, fault := e.admitListen(m.Params, c.caller)
		c.held = held
		return c, fault
	}
	return c, c.resume(m)
}

// removed returns the replacement for a method that the modern revision removed. It returns "" for
// other methods, about which the Handler decides.
func removed(method string) (instead string) {
	switch method {
	case methodInitialize:
		return "send server/discover, or any other request"
	case methodPing:
		return "the response to any request shows that the server is alive"
	case methodSetLevel:
		return "name the level in _meta of each request, as " + revision.MetaLogLevel
	case methodSubscribe, methodUnsubscribe:
		return "send subscriptions/listen"
	case methodTasksList:
		return "keep the ids of your tasks, and send tasks/get"
	}
	return ""
}

// A modernCall is one running request of a modern client, and its Peer.
type modernCall struct {
	edge     *Edge
	id       jsonrpc.ID
	outlet   outlet
	req      mcp.Request
	state    mcp.State
	way      Way
	held     int      // bytes of the sessions' budget for a listen request
	caller   string   // the caller whose share contains them
	progress progress // guarded by the outlet's turn

	mu     sync.Mutex
	rounds rounds
}

// reply returns the response for the Handler's result. No message of the request follows.
func (c *modernCall) reply(ctx context.Context, dst []byte, r *revision.Revision, result *mcp.Result, err error) Reply {
	c.outlet.close()
	c.endAsking()
	if c.req.Method == methodListen {
		c.edge.sessions.GiveN(c.caller, c.held)
	}
	if err != nil && c.req.Method == methodListen && errors.Is(context.Cause(ctx), ErrShutdown) {
		*result, err = mcp.Result{}, nil // the result tells the client that the server ended the subscription
	}
	switch {
	case errors.Is(context.Cause(ctx), ErrCancelled):
		return Reply{} // no message may follow a cancellation
	case err == nil:
		c.warnUnasked(result)
		if c.req.Method == methodListen {
			result.Meta = jsonrpc.With(result.Meta, revision.MetaSubscriptionID, []byte(c.id))
		}
		return c.edge.appendReply(dst, r, c.id, c.req.Method, result)
	case errors.Is(err, mcp.ErrInputRequired) && !errors.As(err, new(*mcp.Error)):
		asked, err := c.inputRequired(ctx)
		if err == nil {
			return c.edge.appendReply(dst, r, c.id, c.req.Method, &asked)
		}
		return failed(dst, r, c.id, c.req.Method, err)
	}
	return ended(ctx, dst, r, c.id, c.req.Method, err)
}

// ended is like failed, but sets Ended in the reply if the server is shutting down.
func ended(ctx context.Context, dst []byte, r *revision.Revision, id jsonrpc.ID, method string, err error) Reply {
	if !errors.Is(context.Cause(ctx), ErrShutdown) {
		return failed(dst, r, id, method, err)
	}
	if errors.Is(err, context.Canceled) {
		err = ErrShutdown
	}
	reply := failed(dst, r, id, method, err)
	reply.Ended = true
	return reply
}

// Notify sends a notification on the request's own stream.
func (c *modernCall) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if c.req.Method == methodListen {
		if method == notifyProgress || method == notifyMessage {
			return nil // not allowed on a subscription
		}
		params = withMetaMember(params, revision.MetaSubscriptionID, []byte(c.id))
	}
	return c.outlet.notify(ctx, func() []byte { return outgoing(method, params, &c.req.Meta, &c.progress) })
}

// TransportInfo implements the method that [mcp.TransportInfoOf] needs.
func (c *modernCall) TransportInfo() mcp.TransportInfo { return transportInfo(c.way, c.id) }
