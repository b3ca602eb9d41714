package gateway

import (
	"context"
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
	// maxSilent is how many in a row it may leave unanswered.
	maxSilent = 3
	// maxBusyTime is how long nothing may be heard of a member at all while a request to it runs: one that does one
	// thing at a time answers no ping meanwhile, and to end it would end that.
	maxBusyTime = 30 * time.Minute
)

// checkHealth pings a member, until ctx is done or it answers no longer, and returns why: so that one that does
// nothing any more is started again before somebody needs it, and one that responds again is asked again. inUse
// says how many requests to it run.
func (m *member) checkHealth(ctx context.Context, c *mcp.Client, b *breaker, inUse func() int64) error {
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
		ping, cancel := context.WithTimeout(ctx, healthTime)
		b.pings()
		err := c.Ping(ping)
		late := errors.Is(err, context.DeadlineExceeded) // the ping's, or an earlier one of the client
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last = time.Now()
		silent, heard := b.pinged(err, late)
		if silent < maxSilent {
			continue
		}
		if inUse() == 0 {
			return fmt.Errorf("server %q did not answer %d pings in a row, each within %v", m.name, maxSilent, healthTime)
		}
		if time.Since(heard) >= maxBusyTime {
			return fmt.Errorf("server %q answered neither a ping nor a request for %v", m.name, maxBusyTime)
		}
	}
}
