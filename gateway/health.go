package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const (
	// healthPause is the time between two pings of a member that nobody uses.
	healthPause = time.Minute
	// healthTime is how long it may take to answer one.
	healthTime = 20 * time.Second
	// maxSilent is how many in a row it may leave unanswered.
	maxSilent = 3
)

// checkHealth pings a member while nobody uses it, until ctx is done or it answers no longer, and returns why:
// so that one that does nothing any more is started again before somebody needs it. While a call runs it may be busy.
func (m *member) checkHealth(ctx context.Context, c *mcp.Client) error {
	for silent := 0; sleep(ctx, healthPause); {
		if m.calls.n.Load() > 0 {
			silent = 0
			continue
		}
		ping, cancel := context.WithTimeout(ctx, healthTime)
		err := c.Ping(ping)
		late := ping.Err() != nil && ctx.Err() == nil
		cancel()
		if silent++; err == nil || !late || errors.As(err, new(*mcp.Error)) { // any answer is one
			silent = 0
		}
		if silent >= maxSilent {
			return fmt.Errorf("server %q did not answer %d pings in a row, each within %v", m.name, maxSilent, healthTime)
		}
	}
	return context.Cause(ctx)
}
