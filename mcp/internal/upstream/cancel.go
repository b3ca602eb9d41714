package upstream

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

const (
	overtakeTime = 8 * time.Second        // how long a request may take to arrive after its cancellation
	maxRepeating = 256                    // cancellations that are repeated at the same time; others are not repeated
	owedTime     = 500 * time.Millisecond // how long a closing connection waits for its cancellations to be sent
)

// sendCancelled sends the cancellation of a request, unless closing its channel cancels the
// request. It reports false if the server did not accept the cancellation.
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

// cancelAgain repeats the cancellation of a request. The request may have arrived after the first
// one and would then run without end, as a server ignores a cancellation of a request that it does
// not know (basic/utilities/cancellation). It reports whether the server accepted a cancellation.
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

// stopCalls prevents further requests and returns the running ones. The result first is false if
// stopCalls was called before.
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

// cancelCall sends the cancellation of a call in a goroutine of the connection, and then calls
// over.
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

// owes records that the server must get a cancellation if ctx ends before the exchange. The method
// settles removes the record.
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

// settleOwed waits for the cancellations of requests that were given up, at most for owedTime.
// Otherwise a server that outlives this client would continue them.
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
		if k.ctx != nil && k.ctx.Err() != nil { // cancelCall will add it to owed
			return true
		}
	}
	return false
}
