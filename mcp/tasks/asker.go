package tasks

import (
	"context"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp"
)

// An asker is the context for the requests that a run sends to other servers. It never ends. It has
// the values of the newest request of the task's owner. Such a value may be a token, which must be
// valid while the run sends requests in the owner's name.
type asker struct {
	context.Context // context of the call
	newest          atomic.Pointer[context.Context]
}

// Value implements [context.Context].
func (a *asker) Value(key any) any {
	if newest := a.newest.Load(); newest != nil {
		if value := (*newest).Value(key); value != nil {
			return value
		}
	}
	return a.Context.Value(key)
}

// asked records that the owner of a task requested its state. The request must have the same
// PrincipalKey and program as the call, as the task will use its token.
func (t *Tasks) asked(ctx context.Context, id string, req *mcp.Request) {
	r := t.runOf(id)
	if r == nil || req.Principal == nil || r.req.Principal == nil || req.Principal.Key() != r.req.Principal.Key() || programOf(req) != programOf(&r.req) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.asker.newest.Store(&ctx)
}

// programOf returns the name of the client software. Only this name distinguishes two programs of a
// user whose credentials name no client.
func programOf(req *mcp.Request) string {
	if req.Meta.Client == nil {
		return ""
	}
	return req.Meta.Client.Name
}
