package statetest

import (
	"context"
	"sync/atomic"

	"github.com/junction-mcp/junction/state"
)

// An Away is a store whose lists cannot be read while Is is set, as if its server were away.
type Away struct {
	state.Shared
	Is atomic.Bool
}

// List implements [state.KV].
func (a *Away) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if a.Is.Load() {
		return nil, state.ErrUnavailable
	}
	return a.Shared.List(ctx, prefix, after, limit)
}
