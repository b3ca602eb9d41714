package chat

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host"
)

// firstLookTime is how long a single question waits for the first check of the conversation's
// tasks.
const firstLookTime = 5 * time.Second

// watchTasks watches the tasks of earlier questions in the background until stop is called. It
// returns when finished tasks have been added to the conversation, but at the latest after
// [firstLookTime].
func watchTasks(ctx context.Context, c *host.Conversation) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.WatchTasks(ctx) })
	limit, cancelLimit := context.WithTimeout(ctx, firstLookTime)
	defer cancelLimit()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for slices.ContainsFunc(c.Tasks(), func(t host.Task) bool { return t.Status != "working" && t.Status != "input_required" }) {
		select {
		case <-ticker.C:
			continue
		case <-limit.Done():
		}
		break
	}
	return func() { cancel(); watching.Wait() }
}
