package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A call that its client gave up before the response lingers, as the server may not have read the
// cancellation. Requests of the server that name no call may still be meant for that client. A
// server that responds to a ping has read all earlier messages.

// Limits of calls that clients gave up.
const (
	lingerTime   = time.Second      // how long the server may continue a call after it has read the cancellation
	lingerWait   = 10 * time.Second // how long calls of other clients wait for that, from the time when the call was given up
	proofTime    = 10 * time.Minute // how long the server may take to read a cancellation
	maxPingPause = time.Minute      // maximum pause between failing pings
	maxLingering = 1_024            // clients with such calls; further clients share one entry
)

// A linger describes the calls that one client gave up. The connection's mu guards it.
type linger struct {
	exchanges int       // number of these calls and cancellations that are still on their way to the server
	unread    int64     // number of the last exchange; 0 once the server has proven that it read it
	until     time.Time // the server may continue until this time
	waits     time.Time // calls of other clients wait until this time at most
}

// isOver reports whether the server no longer works on these calls.
func (l *linger) isOver() bool {
	return l.exchanges == 0 && l.unread == 0 && time.Until(l.until) <= 0
}

func (l *linger) extend(d time.Duration) {
	if until := time.Now().Add(d); until.After(l.until) {
		l.until = until
	}
}

// abandoned records that a client gave up on a call before the response arrived.
func (c *conn) abandoned(k *call) {
	if !k.acceptsRequests || !mayAsk(k.method) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	caller := k.caller
	if c.lingering[caller] == nil && len(c.lingering) >= maxLingering {
		caller = nil
	}
	if c.lingering == nil {
		c.lingering = map[any]*linger{}
	}
	l := c.lingering[caller]
	if l == nil {
		l = new(linger)
		c.lingering[caller] = l
	}
	l.waits = time.Now().Add(lingerWait)
	if k.exchanged {
		c.cancellationSent(l)
	} else {
		k.lingers = l
		l.exchanges++
	}
	if !c.leaving {
		c.leaving = true
		c.owned.Go(c.watchLingering)
	}
}

// responseLost records that a call ended without a response although its client did not cancel it.
// The server may continue the call.
func (c *conn) responseLost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stray = time.Now().Add(lingerWait)
}

// cancellationSent records that the cancellation of a call was sent. In three cases no proof is
// needed that the server has read the cancellation: if the server is modern, as its requests
// identify their calls; if it is on HTTP, until namesNone is set; and if there is only one client,
// which cannot be mistaken for another. The caller holds mu.
func (c *conn) cancellationSent(l *linger) {
	switch {
	case c.options.OneClient, c.session.Load().revision.Modern, c.link.ClosingCancels() && !c.namesNone.Load():
		l.extend(lingerTime)
	default:
		c.cancelled++
		l.unread = c.cancelled
	}
	signal(c.lingers)
}

// signal sends a value to a channel of capacity 1, unless the channel is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (c *conn) exchangeBegins(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.exchanged = false
}

// exchangeOver records that neither a message nor the cancellation of a call is on its way to the
// server. If the server did not accept the cancellation, reading it can never be proven.
func (c *conn) exchangeOver(k *call, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.exchanged = true
	l := k.lingers
	if l == nil {
		return
	}
	k.lingers = nil
	l.exchanges--
	if sent {
		c.cancellationSent(l)
	} else {
		l.extend(proofTime)
	}
}

// watchLingering makes the server prove which messages it has read, and removes finished calls. It
// returns when no calls linger.
func (c *conn) watchLingering() {
	for {
		unread, cancelled, wait := c.nextLingering()
		switch {
		case unread:
			c.prove(cancelled)
		case wait < 0:
			return
		default:
			timer := time.NewTimer(wait)
			select {
			case <-c.lingers:
			case <-timer.C:
			case <-c.ctx.Done():
			}
			timer.Stop()
		}
	}
}

// nextLingering removes the calls that the server no longer works on. If other calls wait for a
// proof, it reports that with the number of the last cancellation. Otherwise it returns the time
// until the next check. The time is negative if no calls linger.
func (c *conn) nextLingering() (unread bool, cancelled int64, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = proofTime
	for caller, l := range c.lingering {
		switch {
		case l.isOver():
			delete(c.lingering, caller)
		case l.unread > 0:
			unread = true
		case l.exchanges == 0:
			wait = min(wait, time.Until(l.until))
		}
	}
	if len(c.lingering) == 0 || c.closed {
		c.leaving = false
		return false, 0, -1
	}
	return unread, c.cancelled, wait
}

// prove pings the server. A response proves that the server has read all earlier messages,
// including the first cancelled cancellations. prove waits until the response arrives or is no
// longer needed.
func (c *conn) prove(cancelled int64) {
	ctx, cancel := context.WithTimeout(c.ctx, proofTime)
	defer cancel()
	began := time.Now()
	proven := func() { c.proven(cancelled, time.Since(began)) }
	defer proven()
	s := c.session.Load()
	k := &call{method: methodPing, session: s, events: newMailbox()}
	defer k.events.close()
	for pause := lingerTime; ; pause = min(2*pause, maxPingPause) {
		k.id = jsonrpc.IntID(c.ids.Add(1))
		out := link.Out{ID: k.id, Method: methodPing, Session: s.id, Message: jsonrpc.AppendRequest(nil, k.id, methodPing, nil), Header: c.header(s, methodPing, ""), Responded: proven}
		_, err := c.link.Call(ctx, out, func(m *jsonrpc.Message) { c.receive(k, m) })
		if err == nil || errors.Is(err, link.ErrSessionLost) || refused(err) || c.link.Err() != nil {
			return
		}
		c.log.Debug("mcp: the server did not respond to a ping after a cancellation", "server", c.options.Name, "error", err)
		if idle.Wait(ctx, pause) != nil {
			return
		}
	}
}

// refused reports whether an HTTP status shows that the server has read the request.
func refused(err error) bool {
	status, ok := errors.AsType[*mcp.StatusError](err)
	return ok && status.Status >= 400 && status.Status < 500 && status.Status != http.StatusRequestTimeout && status.Status != http.StatusTooManyRequests
}

// proven records that the server has read the first cancelled cancellations. A server that took
// long to respond handles one message after the other, so it has finished the earlier ones.
func (c *conn) proven(cancelled int64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lingering {
		if l.unread == 0 || l.unread > cancelled {
			continue
		}
		if l.unread = 0; took < lingerTime {
			l.extend(lingerTime)
		}
	}
}

// awaitLingering waits until the server no longer works on calls that other clients gave up, at
// most for lingerWait. Until then, server requests that name no call are refused.
func (c *conn) awaitLingering(ctx context.Context, caller any) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	for c.othersLinger(caller) {
		if idle.Wait(ctx, lingerTime/10) != nil {
			return
		}
	}
}

// othersLinger reports whether a call must wait for calls that other clients gave up.
func (c *conn) othersLinger(caller any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, l := range c.lingering {
		if (other == nil || other != caller) && !l.isOver() && time.Until(l.waits) > 0 {
			return true
		}
	}
	return false
}
