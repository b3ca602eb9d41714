package gateway

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// ownTasksKey marks the context of a request through [Gateway.Server].
type ownTasksKey struct{}

// waitForTasks returns a Handler that waits for the tasks of calls. So middleware sees a call end
// with its final result, and a client without support for tasks gets that result.
//
// If the gateway is wrapped in [tasks.Tasks] with Others, a task of the member becomes a task of
// the gateway's client at once. The wrapper then answers requests about the task, under an id of
// its own. A restarted gateway continues to wait for the task.
//
// A gateway that keeps no tasks gives clients none, even if they declare support, because it would
// not know who owns a task. But a client of [Gateway.Server] gets the tasks of that server, and its
// requests about them are passed on.
func waitForTasks(member mcp.Handler) mcp.Handler {
	options := tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
		if !over {
			_, _ = tasks.Begin(ctx) // if the task cannot begin, the call lasts until its result
		}
	}}
	own := tasks.Wait(options)(member)
	options.All = true
	all := tasks.Wait(options)(member)
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if ctx.Value(ownTasksKey{}) != nil {
			return own.Handle(context.WithValue(ctx, ownTasksKey{}, nil), req) // another gateway in this process must not see the mark
		}
		return all.Handle(ctx, req)
	})
}
