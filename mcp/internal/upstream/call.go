package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A call is one request that waits for the server's response. Its events go to the goroutine that
// owns it. The other fields are constant, except session and the last two.
type call struct {
	id              jsonrpc.ID
	method          string
	caller          any      // of the client's request; see [mcp.Request.Caller]
	by              string   // the caller whose shares of the limits it uses
	session         *session // the session that it was sent in, for the reader of its channel; changes only before it is sent again
	events          mailbox
	filter          *filter // for a listen request
	task            string  // id of a task, for a request for the task's result
	acceptsRequests bool    // set if the server may send requests during the call; not for listen requests and requests of the connection

	// ctx and giveUp end when the client gives up the call or the connection is closed. They are
	// nil in a legacyCall, which has its own.
	ctx    context.Context
	giveUp context.CancelCauseFunc

	// The connection's mu guards the following fields.
	exchanged bool    // set when neither a message nor the cancellation of the call is on its way to the server
	lingers   *linger // set if the client gave up the call before exchanged was set
}

// addCall registers a call, so that its messages reach it.
func (c *conn) addCall(ctx context.Context, req *mcp.Request) (*call, error) {
	k, err := c.newCall(ctx, req)
	if err == nil {
		err = c.register(k, req)
	}
	return k, err
}

// addCallWithin is like addCall, for a call whose context ends with ctx or with the connection.
func (c *conn) addCallWithin(ctx context.Context, req *mcp.Request) (*call, error) {
	k, err := c.newCall(ctx, req)
	if err != nil {
		return nil, err
	}
	k.ctx, k.giveUp = context.WithCancelCause(ctx)
	if err := c.register(k, req); err != nil {
		k.giveUp(err)
		return nil, err
	}
	return k, nil
}

func (c *conn) newCall(ctx context.Context, req *mcp.Request) (*call, error) {
	_, own := req.Peer.(noPeer)
	k := &call{id: jsonrpc.IntID(c.ids.Add(1)), method: req.Method, caller: req.Caller, by: share.Of(ctx), events: newMailbox()}
	k.events.all, k.events.by = c.queued, k.by
	if req.Method == methodTasksResult {
		k.task = req.Name
	}
	if req.Method == methodListen {
		filter, err := filterOf(req)
		if err != nil {
			return nil, err
		}
		k.filter = filter
	}
	k.acceptsRequests = !own && k.filter == nil
	return k, nil
}

func (c *conn) register(k *call, req *mcp.Request) error {
	if p, watched := mcp.PeerAs[interface{ Sent(mcp.TransportInfo) }](req.Peer); watched {
		way := link.WayOf(c.link)
		spoken := ""
		if s := c.session.Load(); s != nil {
			spoken = s.revision.Name
		}
		p.Sent(mcp.TransportInfo{Revision: spoken, ID: string(k.id), Session: way.Session, Network: way.Network, Protocol: way.Protocol, Address: way.Address, Port: way.Port})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return c.named(req, c.reason())
	}
	if !c.places.Take(k.by) {
		return c.named(req, fmt.Errorf("%d requests already wait for a response or for their cancellation, or a quarter of that number from one caller; try again later", maxCalls))
	}
	if k.filter != nil && !c.listens.Take(k.by) {
		c.places.Give(k.by)
		return c.named(req, fmt.Errorf("%d subscriptions are open already, or a quarter of that number from one caller; try again later", maxListens))
	}
	c.calls[k.id] = k
	return nil
}

// finishCall removes a call from the table and closes its mailbox.
func (c *conn) finishCall(k *call) {
	c.removeCall(k)
	k.events.close()
	if k.giveUp != nil {
		k.giveUp(nil)
	}
}

// removeCall removes a call from the table. After that, no message of the server reaches the call.
func (c *conn) removeCall(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[k.id] == k {
		if k.filter != nil {
			c.listens.Give(k.by)
		}
		c.places.Give(k.by)
	}
	delete(c.calls, k.id)
	if c.closing {
		signal(c.settled)
	}
}

// find returns the call with this progress token or id, or nil.
func (c *conn) find(raw json.RawMessage) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[jsonrpc.ID(raw).Plain()]
}

// mayAsk reports whether a server may send requests and log messages during a request with this
// method.
func mayAsk(method string) bool { return revision.MethodNamed(method).Asks }
