package gateway

import (
	"context"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// An instance can end after a request found it and before the request uses it. The request then asks for
// the right again: without it, another gateway could run the same instance.
func TestNoInstanceStartsWithoutItsLease(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errClosed)
	m := &member{name: "counting", ctx: ctx, upstream: Upstream{Isolation: One}}
	m.around.Store(&surroundings{})
	if _, err := m.instanceFor(&mcp.Request{}, ownerKey("k"), identity{}, nil); !errors.Is(err, errNoLease) {
		t.Errorf("without a right: %v", err)
	}
}
