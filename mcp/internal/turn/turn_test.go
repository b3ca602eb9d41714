package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestATurnIsWaitedForNoLongerThanItsContextAllows(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	var turn Turn
	if err := turn.Acquire(ctx); err != nil {
		t.Errorf("a free turn: %v", err)
	}
	if turn.TryAcquire() {
		t.Error("two have the turn")
	}
	if err := turn.Acquire(ctx); err != over {
		t.Errorf("a turn that somebody has: %v", err)
	}
	turn.Release()
	if !turn.TryAcquire() {
		t.Error("whoever gave up has the turn")
	}
}

func TestTurnsGoToTheLongestWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn Turn
		turn.Acquire(t.Context())
		var order []int
		for i := range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if i != 2 { // gives up
				ctx = t.Context()
			}
			go func() {
				defer cancel()
				if turn.Acquire(ctx) == nil {
					order = append(order, i)
					turn.Release()
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		turn.Release()
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[0 1 3 4]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestOneHasTheTurnWheneverOthersGiveUp(t *testing.T) {
	var turn Turn
	var running sync.WaitGroup
	count := 0 // the race detector reports two holders of the turn
	for i := range 8 {
		running.Go(func() {
			for j := range 500 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i+j)%4)*10*time.Microsecond)
				if turn.Acquire(ctx) == nil {
					count++
					turn.Release()
				}
				cancel()
			}
		})
	}
	running.Wait()
	if !turn.TryAcquire() {
		t.Error("the turn got lost")
	}
}
