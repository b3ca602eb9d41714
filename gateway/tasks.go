package gateway

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// ownTasksKey marks the context of a request through [Gateway.Server].
type ownTasksKey struct{}

// waitForTasks waits for the tasks that calls of a member's tools become, so that all middleware sees a call that ends
// with its result, and a client that knows no tasks gets that. Where the gateway itself stands behind [tasks.Tasks]
// with Others, the call becomes a task of the gateway's client as soon as it is one of the member: its requests are
// answered and its result is read there, under an id of the gateway, and a gateway that was started again goes on to wait.
// A gateway that keeps no tasks hands out none, whatever its client declared: nobody could say whose they are. But
// a client of the one server gets that one's tasks, and what it asks about them is passed on.
func waitForTasks(member mcp.Handler) mcp.Handler {
	options := tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
		if !over {
			_, _ = tasks.Begin(ctx) // one that cannot begin leaves a call that lasts
		}
	}}
	own := tasks.Wait(options)(member)
	options.All = true
	all := tasks.Wait(options)(member)
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if ctx.Value(ownTasksKey{}) != nil {
			return own.Handle(context.WithValue(ctx, ownTasksKey{}, nil), req) // which another gateway in this process must not see
		}
		return all.Handle(ctx, req)
	})
}
