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

// A call is one request that waits for the server's response. Its events go to the
// goroutine that owns it; the other fields do not change, but for the last two.
type call struct {
	id              jsonrpc.ID
	method          string
	caller          any      // of the request; see [mcp.Request.Caller]
	by              string   // in whose share it is
	session         *session // in which it was sent, for what reads its channel; changes only before it is sent again
	events          mailbox
	filter          *filter // of a listen request
	task            string  // of a request for the result of one
	acceptsRequests bool    // the server may ask in it; false for listen requests and the connection's own

	// Of what ends when the client gives the call up, or the connection is closed; nil for a legacyCall, which has others:
	ctx    context.Context
	giveUp context.CancelCauseFunc

	// Guarded by the connection's mu:
	exchanged bool    // nothing of it is on its way to the server any more, nor its cancellation
	lingers   *linger // of its client, which gave it up before that
}

// addCall registers a call, so that what arrives for it finds it.
func (c *conn) addCall(ctx context.Context, req *mcp.Request) (*call, error) {
	k, err := c.newCall(ctx, req)
	if err == nil {
		err = c.register(k, req)
	}
	return k, err
}

// addCallWithin is addCall for a call that ends with its context, which ends with ctx or with the connection.
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
	if p, watched := mcp.PeerAs[interface{ Sent(mcp.Carriage) }](req.Peer); watched {
		way := link.WayOf(c.link)
		spoken := ""
		if s := c.session.Load(); s != nil {
			spoken = s.revision.Name
		}
		p.Sent(mcp.Carriage{Revision: spoken, ID: string(k.id), Session: way.Session, Network: way.Network, Protocol: way.Protocol, Address: way.Address, Port: way.Port})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return c.named(req, mcp.ErrClosed)
	}
	if !c.places.Take(k.by) {
		return c.named(req, fmt.Errorf("%d requests wait for a response, or to be cancelled, already, or a quarter of them of one caller; try again later", maxCalls))
	}
	if k.filter != nil && !c.listens.Take(k.by) {
		c.places.Give(k.by)
		return c.named(req, fmt.Errorf("%d subscriptions are open already, or a quarter of them of one caller; try again later", maxListens))
	}
	c.calls[k.id] = k
	return nil
}

// finishCall takes a call off the table and closes its mailbox.
func (c *conn) finishCall(k *call) {
	c.removeCall(k)
	k.events.close()
	if k.giveUp != nil {
		k.giveUp(nil)
	}
}

// removeCall takes a call off the table: no message of the server is for it any more.
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

// find returns the call that a token or id names, or nil.
func (c *conn) find(raw json.RawMessage) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[jsonrpc.ID(raw).Plain()]
}

// mayAsk reports whether a server has reason to ask or log in the middle of a request.
func mayAsk(method string) bool { return revision.MethodNamed(method).Asks }
