package turn

import (
	"context"
	"errors"
	"testing"
)

func TestATurnIsWaitedForNoLongerThanItsContextAllows(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	turn := New()
	if err := turn.Acquire(ctx); err != nil {
		t.Errorf("a free turn: %v", err)
	}
	if turn.TryAcquire() {
		t.Error("two have the turn")
	}
	if err := turn.Acquire(ctx); err != over {
		t.Errorf("a turn that somebody has: %v", err)
	}
	go turn.Release()
	if err := turn.Acquire(t.Context()); err != nil {
		t.Error(err)
	}
}
