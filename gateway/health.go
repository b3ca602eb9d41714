package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const (
	// healthPause is the time between two pings of a member.
	healthPause = time.Minute
	// healthTime is how long it may take to answer one.
	healthTime = 20 * time.Second
	// maxSilentTime is how long it may leave all of them unanswered, while no request runs that it could be busy with.
	maxSilentTime = time.Minute
	// maxBusyTime is how long nothing may be heard of a member at all while a request to it runs: one that does one
	// thing at a time answers no ping meanwhile, and to end it would end that.
	maxBusyTime = 30 * time.Minute
	// inputTime is how long a user may take to give the input that a member waits for: for a modern client no request runs
	// meanwhile.
	inputTime = 10 * time.Minute
)

// checkHealth pings a member, until ctx is done or it answers no longer, and returns why: so that one that does
// nothing any more is started again before somebody needs it, and one that responds again is asked again.
func (m *member) checkHealth(ctx context.Context, c *mcp.Client, b *breaker) error {
	last := time.Now()
	timer := time.NewTimer(healthPause)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(b.due(last)))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.wake:
			continue
		case <-timer.C:
		}
		ping, cancel := context.WithDeadline(ctx, b.pings())
		err := c.Ping(ping)
		late := errors.Is(err, context.DeadlineExceeded) // the ping's, or an earlier one of the client
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last = time.Now()
		if err := b.pinged(err, late); err != nil {
			return err
		}
	}
}

// pings notes that a ping is sent, and returns until when it may be answered.
func (b *breaker) pings() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.pinging.IsZero() {
		b.pinging = now
	}
	end, _ := b.end()
	return earlier(now.Add(healthTime), end)
}

// pinged notes how a ping went, and returns why the server is to be restarted; nil if it is not.
func (b *breaker) pinged(err error, late bool) error {
	answered := err == nil || isResponse(err)
	b.mu.Lock()
	b.doubted = false
	was, seen := b.state.Load(), b.isSlow() || late
	end, busy := b.end()
	switch {
	case answered:
		b.speaks()
		if was == open { // one more request without a response opens it again, for longer
			b.unanswered = maxUnanswered - 1
			b.state.Store(wary)
		}
	case !late: // it cannot be asked, which is not silence
		b.ends()
	}
	if !answered {
		b.state.CompareAndSwap(calm, wary)
		if was == open {
			if late && !busy {
				b.times = 0 // it is about to be restarted
			}
			b.open() // the cause stays that of the requests, which people sent
		}
	}
	if late && !end.IsZero() && !time.Now().Before(end) {
		b.mute = fmt.Errorf("server %q answered no ping for %v, and had no request to be busy with", b.name, maxSilentTime)
		if busy {
			b.mute = fmt.Errorf("server %q answered neither a ping nor a request for %v", b.name, maxBusyTime)
		}
	}
	mute := b.mute
	b.mu.Unlock()
	if was == open || seen {
		b.changed()
	}
	return mute
}

// isMute is why the connection is ended; nil if it is not because the server answers nothing.
func (b *breaker) isMute() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mute
}

// end is when the server is restarted if nothing is heard of it until then, zero if it is not silent, and whether a
// request that it has explains that it is. The lock is held.
func (b *breaker) end() (at time.Time, busy bool) {
	switch {
	case b.pinging.IsZero():
		return time.Time{}, false
	case b.running.Load() > 0:
		return b.heard.Add(maxBusyTime), true
	case b.excused.After(b.pinging):
		return b.excused.Add(maxSilentTime), false
	}
	return b.pinging.Add(maxSilentTime), false
}

// due is when the next ping is, if the last was at some time: each pause, earlier where a request got no response in
// time or nothing explains that the last ping got none, and where requests fail at once when that time is over.
func (b *breaker) due(last time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	end, busy := b.end()
	next := last.Add(healthPause)
	switch {
	case b.state.Load() == open:
		next = b.until
	case b.doubted || !end.IsZero() && !busy:
		next = last.Add(firstTrialPause)
	}
	return earlier(next, end)
}

// earlier is the earlier of two times, of which the second may be zero.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// excuse notes that a request explained the silence until now, and does so for a time. One that came during the silence
// does while it runs, but does not prolong it: a client that tries again and again keeps none alive that does nothing any more.
func (b *breaker) excuse(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := time.Now().Add(d); until.After(b.excused) {
		b.excused = until
	}
}

// current is the number of the present silence, or of the next one.
func (b *breaker) current() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.silence
}

// hears notes that the server said something about a request that runs.
func (b *breaker) hears() {
	b.mu.Lock()
	seen := b.isSlow()
	b.speaks()
	b.mu.Unlock()
	if seen {
		b.changed()
	}
}

// speaks ends a silence; the lock is held.
func (b *breaker) speaks() {
	b.heard = time.Now()
	b.ends()
}

func (b *breaker) ends() {
	if !b.pinging.IsZero() {
		b.pinging = time.Time{}
		b.silence++
	}
}

// isSlow reports whether people see that a ping is not answered; the lock is held.
func (b *breaker) isSlow() bool { return !b.pinging.IsZero() && time.Since(b.pinging) >= slowPing }

// prospect says what becomes of a server that is silent; the lock is held.
func (b *breaker) prospect() string {
	end, busy := b.end()
	switch {
	case b.mute != nil:
		return "it is being restarted"
	case busy:
		return "it may be busy with a request that runs, and is restarted if nothing is heard of it until " + end.Format(time.TimeOnly)
	}
	return "it is restarted if it answers none until " + end.Format(time.TimeOnly) + ", as no request runs that it could be busy with"
}

// A heardPeer is the Peer of a request, which hears of the server by it.
type heardPeer struct {
	mcp.Peer
	b *breaker
}

func (p *heardPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.b.hears()
	return p.Peer.Notify(ctx, method, params)
}

func (p *heardPeer) Unwrap() mcp.Peer { return p.Peer }
