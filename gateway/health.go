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
	// defaultHealthPause is the default of [Options.HealthPause].
	defaultHealthPause = time.Minute
	// healthTime is the timeout of a ping.
	healthTime = 20 * time.Second
	// maxSilentTime is how long a member may leave pings unanswered while no running request
	// explains that.
	maxSilentTime = time.Minute
	// maxBusyTime is how long a member may send nothing while it handles a request. A server that
	// handles one request at a time answers no ping in that time, and a restart would end the
	// request.
	maxBusyTime = 30 * time.Minute
	// inputTime is how long a user may take to give the input that a member waits for. With a
	// modern client, no request runs during that time.
	inputTime = 10 * time.Minute
)

// checkHealth pings a member until ctx is done or the member no longer answers, and returns the
// reason. A member that stopped responding is thus restarted before a client needs it. A member
// that responds again gets requests again.
func (m *member) checkHealth(ctx context.Context, c *mcp.Client, b *breaker) error {
	last := time.Now()
	timer := time.NewTimer(b.pause)
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
		ping, cancel := context.WithDeadline(ctx, b.beginPing())
		err := c.Ping(ping)
		late := errors.Is(err, context.DeadlineExceeded) // the deadline of the ping, or an earlier one of the client
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last = time.Now()
		if err := b.endPing(err, late); err != nil {
			return err
		}
	}
}

// beginPing records that a ping is sent, and returns its deadline.
func (b *breaker) beginPing() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.pinging.IsZero() {
		b.pinging = now
	}
	end, _ := b.end()
	return earlier(now.Add(healthTime), end)
}

// endPing records the outcome of a ping. It returns the reason to restart the server, or nil.
func (b *breaker) endPing(err error, late bool) error {
	answered := err == nil || isResponse(err)
	b.mu.Lock()
	b.doubted = false
	was, seen := b.state.Load(), b.isSlow() || late
	end, busy := b.end()
	switch {
	case answered:
		b.noteActivity()
		if was == open { // one more request without a response opens the breaker again, for longer
			b.unanswered = b.limit - 1
			b.state.Store(wary)
		}
	case !late: // an error of a ping is not silence
		b.endSilence()
	}
	if !answered {
		b.state.CompareAndSwap(calm, wary)
		if was == open {
			if late && !busy {
				b.times = 0 // as it is about to be restarted
			}
			b.open() // the cause stays the error of the last client request
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

// isMute returns the reason why the connection was ended because the server sends nothing, or nil.
func (b *breaker) isMute() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mute
}

// end returns the time when the server is restarted if it stays silent, or the zero time if it is
// not silent. It also reports whether a running request explains the silence. The caller holds the
// lock.
func (b *breaker) end() (at time.Time, busy bool) {
	switch {
	case b.pinging.IsZero():
		return time.Time{}, false
	case b.running.Load() > 0:
		return b.lastActivity.Add(maxBusyTime), true
	case b.excused.After(b.pinging):
		return b.excused.Add(maxSilentTime), false
	}
	return b.pinging.Add(maxSilentTime), false
}

// due returns the time of the next ping, given the time of the last one. The interval is
// that of the options, or less if a request got no response in time or a silence has no explanation. While
// the breaker is open, the ping is due at the end of that time.
func (b *breaker) due(last time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	end, busy := b.end()
	next := last.Add(b.pause)
	switch {
	case b.state.Load() == open:
		next = b.until
	case b.doubted || !end.IsZero() && !busy:
		next = last.Add(firstTrialPause)
	}
	return earlier(next, end)
}

// earlier returns the earlier of two times; b may be zero.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// excuse records that a request explained the silence until now, and explains it for a further time
// d. A request that came during the silence explains it only while it runs. Otherwise a client that
// retries would prevent the restart of a server.
func (b *breaker) excuse(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := time.Now().Add(d); until.After(b.excused) {
		b.excused = until
	}
}

// current returns the number of the present silence, or of the next one.
func (b *breaker) current() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.silence
}

// noteNotification records a notification of the server about a running request.
func (b *breaker) noteNotification() {
	b.mu.Lock()
	seen := b.isSlow()
	b.noteActivity()
	b.mu.Unlock()
	if seen {
		b.changed()
	}
}

// noteActivity records that the server sent something, which ends a silence. The caller holds the
// lock.
func (b *breaker) noteActivity() {
	b.lastActivity = time.Now()
	b.endSilence()
}

func (b *breaker) endSilence() {
	if !b.pinging.IsZero() {
		b.pinging = time.Time{}
		b.silence++
	}
}

// isSlow reports whether status reports a ping as unanswered. The caller holds the lock.
func (b *breaker) isSlow() bool { return !b.pinging.IsZero() && time.Since(b.pinging) >= slowPing }

// nextStep describes the next step for a silent server. The caller holds the lock.
func (b *breaker) nextStep() string {
	end, busy := b.end()
	switch {
	case b.mute != nil:
		return "it is being restarted"
	case busy:
		return "it may be busy with a request, and is restarted if it sends nothing until " + end.Format(time.TimeOnly)
	}
	return "it runs no request, and is restarted if it answers no ping until " + end.Format(time.TimeOnly)
}

// A breakerPeer is the Peer of a request. It reports notifications of the server to the breaker.
type breakerPeer struct {
	mcp.Peer
	b *breaker
}

func (p *breakerPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.b.noteNotification()
	return p.Peer.Notify(ctx, method, params)
}

func (p *breakerPeer) Unwrap() mcp.Peer { return p.Peer }
