package upstream

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

const (
	overtakeTime = 8 * time.Second        // how long a request may take to arrive behind its cancellation
	maxRepeating = 256                    // cancellations that are sent again; those of more are not
	owedTime     = 500 * time.Millisecond // how long a connection that is closed waits until cancellations are sent
)

// sendCancelled says that a request is not wanted any more, where giving up its
// channel did not say so; false if the server did not take that.
func (c *conn) sendCancelled(ctx context.Context, id jsonrpc.ID) bool {
	s := c.session.Load()
	if s == nil || c.link.ClosingCancels() && s.revision.Modern || c.link.Err() != nil {
		return true
	}
	by := share.Of(ctx)
	c.places.Hold(by)
	defer c.places.Give(by)
	w := jsonrpc.NewObject(nil)
	w.ID("requestId", id)
	w.String("reason", context.Cause(ctx).Error())
	return c.send(notificationCancelled, w.Bytes())
}

// cancelAgain repeats the cancellation of a request that may have arrived behind it, which
// would run without end: the server has ignored the first. One that knows the request no
// more ignores the others (basic/utilities/cancellation). It reports whether the server
// took one.
func (c *conn) cancelAgain(ctx context.Context, id jsonrpc.ID) (sent bool) {
	by := share.Of(ctx)
	if !c.repeating.Take(by) {
		return false
	}
	defer c.repeating.Give(by)
	for pause := overtakeTime / 8; pause < overtakeTime && idle.Wait(c.ctx, pause) == nil; pause *= 2 {
		sent = c.sendCancelled(ctx, id) || sent
	}
	return sent
}

// stopCalls lets no further request begin, and returns those that run; first is false where that was done before.
func (c *conn) stopCalls() (running []*call, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, c.closing = !c.closing, true
	for _, k := range c.calls {
		if k.giveUp != nil {
			running = append(running, k)
		}
	}
	return running, first
}

// cancelCall sends the cancellation of a request that was given up in a goroutine of the connection, which then calls over.
func (c *conn) cancelCall(k *call, over func(sent bool)) {
	c.owes(k.ctx, k)
	if !c.spawn(func() {
		sent := c.sendCancelled(k.ctx, k.id)
		c.settles(k)
		over(sent)
	}) {
		c.settles(k)
	}
}

// owes notes that the server has to learn when ctx ends before the exchange does; settles, that it was, or need not be.
func (c *conn) owes(ctx context.Context, k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed[k] = ctx
}

func (c *conn) settles(k *call) {
	c.mu.Lock()
	delete(c.owed, k)
	c.mu.Unlock()
	signal(c.settled)
}

// settleOwed waits a moment for the cancellations of requests that were given up: a server that goes on without this client would
// work for nobody.
func (c *conn) settleOwed() {
	limit := time.NewTimer(owedTime)
	defer limit.Stop()
	for c.owesSome() {
		select {
		case <-c.settled:
		case <-limit.C:
			return
		}
	}
}

func (c *conn) owesSome() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ctx := range c.owed {
		if ctx.Err() != nil {
			return true
		}
	}
	for _, k := range c.calls {
		if k.ctx != nil && k.ctx.Err() != nil { // it is about to be owed
			return true
		}
	}
	return false
}
