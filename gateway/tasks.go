package gateway

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// ownTasksKey marks the context of a request through [Gateway.Server].
type ownTasksKey struct{}

// waitForTasks waits for the tasks of calls. So all middleware sees a call that ends with its
// result, and a client without support for tasks gets that.
//
// If the gateway is wrapped in [tasks.Tasks] with Others, a task of the member at once becomes one
// of the gateway's client. Requests about it are then answered there, under an id of the gateway,
// and a restarted gateway continues to wait.
//
// A gateway that keeps no tasks gives none to clients, even if they declare support, as their
// owners would not be known. But a client of [Gateway.Server] gets the tasks of that server, and
// its requests about them are passed on.
func waitForTasks(member mcp.Handler) mcp.Handler {
	options := tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
		if !over {
			_, _ = tasks.Begin(ctx) // if it cannot begin, the call lasts until its result
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
