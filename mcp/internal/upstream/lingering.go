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

// A call that its client gave up before its response lingers: the server may not have
// read that it was cancelled, and what it asks without naming a call may still be for
// that client. A server that responds to a ping has read what was sent before it.

// Limits and times of calls that were given up.
const (
	lingerTime   = time.Second      // how long the server may go on with a call once it has read that it was cancelled
	lingerWait   = 10 * time.Second // how long calls of others wait for that, from when the call was given up
	proofTime    = 10 * time.Minute // how long the server may take to read a cancellation
	maxPingPause = time.Minute      // between pings that fail
	maxLingering = 1_024            // clients with such calls; those of more clients count as anybody's
)

// A linger is what is known of the calls that one client gave up. It is guarded by the
// connection's mu.
type linger struct {
	exchanges int       // of these calls, or their cancellations, that are on their way to the server
	unread    int64     // the last of them that is over, by its number, until it is proven that the server has read it; else 0
	until     time.Time // then the server may go on until then
	waits     time.Time // calls of others wait until then at most
}

// isOver reports whether the server has left these calls.
func (l *linger) isOver() bool {
	return l.exchanges == 0 && l.unread == 0 && time.Until(l.until) <= 0
}

func (l *linger) extend(d time.Duration) {
	if until := time.Now().Add(d); until.After(l.until) {
		l.until = until
	}
}

// abandoned notes that a client gave up a call before its response.
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

// cancellationSent notes that the cancellation of a call was sent. A modern server names
// the calls of what it asks, one over HTTP does until it is seen that it does not, and the
// one client is not mistaken for another; others have to prove that they have read it. The
// caller holds mu.
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

// signal puts a value into a channel with room for one, if it is empty.
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

// exchangeOver notes that nothing of a call is on its way to the server any more, nor its
// cancellation. One that the server did not take can never be proven.
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

// watchLingering has the server prove what it has read, and forgets the calls that it has
// left, until there are none.
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

// nextLingering forgets the calls that the server has left. It reports whether others wait
// for a proof, up to which number, or else when to look again; negative: there are none.
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

// prove pings the server, which has then read all that was sent before: the first so many
// cancellations. It waits for the response until it can be given up.
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
		c.log.Debug("mcp: the server did not respond to a ping behind a cancellation", "server", c.options.Name, "error", err)
		if idle.Wait(ctx, pause) != nil {
			return
		}
	}
}

// refused reports whether an HTTP status says that the server has read the request.
func refused(err error) bool {
	status, ok := errors.AsType[*mcp.StatusError](err)
	return ok && status.Status >= 400 && status.Status < 500 && status.Status != http.StatusRequestTimeout && status.Status != http.StatusTooManyRequests
}

// proven notes that the server has read the first so many cancellations. One that took its
// time to respond does one thing after the other, and has done what was before.
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

// awaitLingering waits until the server has left the calls that other clients gave up
// before, but not for long: until it has, nobody is asked what names no call.
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

// othersLinger reports whether a call waits for those that other clients gave up.
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
