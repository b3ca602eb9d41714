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
// A gateway that keeps no tasks hands out none, whatever its client declared: nobody could say whose they are. But
// a transparent one has one member, and passes on what is asked about that one's tasks.
func waitForTasks(member mcp.Handler, transparent bool) mcp.Handler {
	return tasks.Wait(tasks.WaitOptions{All: !transparent, OnTask: func(ctx context.Context, _, _ string, over bool) {
		if !over {
			_, _ = tasks.Begin(ctx) // one that cannot begin leaves a call that lasts
		}
	}})(member)
}

// aboutTask passes a request about a task on to the one member of a transparent gateway.
func (g *Gateway) aboutTask(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	g.mu.RLock()
	members := g.members
	g.mu.RUnlock()
	if !g.options.Transparent || len(members) != 1 {
		return mcp.Result{}, unknownMethod(req)
	}
	return members[0].ask(ctx, req, req)
}
