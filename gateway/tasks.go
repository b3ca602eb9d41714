package gateway

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// waitForTasks waits for the tasks that calls of a member's tools become, so that all middleware sees a call that ends
// with its result, and a client that knows no tasks gets that. Where the gateway itself stands behind [tasks.Tasks]
// with Others, the call becomes a task of the gateway's client as soon as it is one of the member: its requests are
// answered and its result is read there, under an id of the gateway, and a gateway that was started again goes on to wait.
func waitForTasks(member mcp.Handler) mcp.Handler {
	return tasks.Wait(tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
		if !over {
			_, _ = tasks.Begin(ctx) // one that cannot begin leaves a call that lasts
		}
	}})(member)
}
