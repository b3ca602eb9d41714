package upstream

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// listen opens a separate subscription for each request.
func (e *modern) listen(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	if task.IsForFree(ctx) {
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "server %q: a subscription needs a message to the server, which is not sent here", e.options.Name)
	}
	k, err := e.addCallWithin(ctx, req)
	if err != nil {
		return mcp.Result{}, err
	}
	defer e.finishCall(k)
	m, err := e.runListen(k.ctx, k, e.out(s, k.id, req, nil, nil), req.Peer)
	if err != nil {
		if ctx.Err() != nil {
			return mcp.Result{}, context.Cause(ctx)
		}
		return mcp.Result{}, e.failed(s, req, err)
	}
	result, err := e.result(ctx, s, req, m)
	result.Meta = nil // the _meta contains the subscription's id, which differs on this side
	return result, err
}

// runListen runs the exchange of a listen request. It passes notifications on until the response
// arrives or ctx ends.
func (e *modern) runListen(ctx context.Context, k *call, out link.Out, peer mcp.Peer) (*jsonrpc.Message, error) {
	exchanging, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.exchange(exchanging, k, out)
	for {
		select {
		case <-k.events.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		last, over := passAll(ctx, peer, k.events.take())
		if over {
			e.removeCall(k)
			passAll(ctx, peer, k.events.take()) // events that preceded the response
			return last.message, last.err
		}
	}
}

// passAll passes notifications on, and returns the response if it is among the events.
func passAll(ctx context.Context, peer mcp.Peer, events []event) (last event, over bool) {
	for _, ev := range events {
		if ev.kind == response {
			last, over = ev, true
		} else {
			pass(ctx, peer, ev.message)
			ev.over()
		}
	}
	return last, over
}

// notify passes a notification to its subscription. A notification without an id goes to all
// subscriptions that want it. For example, mcp-go omits the id on a single channel.
func (e *modern) notify(_ *session, m *jsonrpc.Message) {
	if m.Method == notificationCancelled { // the server ends a subscription
		if k := e.find(m.Members.Get("requestId")); k != nil && k.filter != nil {
			k.events.put(event{kind: response, message: &jsonrpc.Message{Kind: jsonrpc.Response, ID: k.id, Result: []byte(`{}`)}})
		}
		return
	}
	id := jsonrpc.Get(jsonrpc.Get(m.Params, "_meta"), revision.MetaSubscriptionID)
	if k := e.find(id); k != nil && k.filter != nil {
		k.events.put(event{kind: notification, message: m, flight: &e.inFlight})
		return
	}
	delivered := false
	if id == nil && m.Method != notificationMessage {
		uri, _ := jsonrpc.Unquote(m.Members.Get("uri"))
		for _, k := range e.listening() {
			if k.filter.wants(m.Method, uri) {
				k.events.putOnce(event{kind: notification, message: m, flight: &e.inFlight})
				delivered = true
			}
		}
	}
	if !delivered {
		e.log.Debug("mcp: a notification without a subscription", "server", e.options.Name, "method", m.Method)
	}
}

// listening returns the open subscriptions.
func (c *conn) listening() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []*call
	for _, k := range c.calls {
		if k.filter != nil {
			open = append(open, k)
		}
	}
	return open
}
