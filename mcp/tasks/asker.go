package tasks

import (
	"context"
	"slices"
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

// asked notes that the owner of a task asked about it. The request has to be allowed what the call was, no more and no less:
// the task acts with its token.
func (t *Tasks) asked(ctx context.Context, id string, who *mcp.Principal) {
	t.mu.Lock()
	r := t.running[id]
	t.mu.Unlock()
	if r == nil || who == nil || r.req.Principal == nil || !slices.Equal(who.Scopes, r.req.Principal.Scopes) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.asker.newest.Store(&ctx)
}
