package tasks

import (
	"context"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp"
)

// An asker is the context of a run's requests to others: without an end, and with the values of the
// newest request of its owner, among which may be a token that has to hold while the run asks a server in the owner's name.
type asker struct {
	context.Context // of the call
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

// asked notes that the owner of a task asked about it. The request has to be of the same grantee and program as the call: the task
// acts with its token.
func (t *Tasks) asked(ctx context.Context, id string, req *mcp.Request) {
	r := t.runOf(id)
	if r == nil || req.Principal == nil || r.req.Principal == nil || req.Principal.Grantee() != r.req.Principal.Grantee() || programOf(req) != programOf(&r.req) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.asker.newest.Store(&ctx)
}

// programOf is the name that the client of a request gives itself: all that tells two programs of a user apart whose credentials name
// none.
func programOf(req *mcp.Request) string {
	if req.Meta.Client == nil {
		return ""
	}
	return req.Meta.Client.Name
}
