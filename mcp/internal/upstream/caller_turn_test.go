package upstream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Eight clients call one after the other while a ninth calls all the time.
func TestClientsGetTheTurnInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn callerTurn
		var mu sync.Mutex
		var order, want []string
		var calling sync.WaitGroup
		call := func(caller string) {
			if err := turn.acquire(t.Context(), caller); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, caller)
			mu.Unlock()
			time.Sleep(time.Second)
			turn.release()
		}
		calling.Go(func() {
			for range 3 {
				call("busy")
			}
		})
		synctest.Wait()
		want = append(want, "busy")
		for n := range 8 {
			caller := fmt.Sprint("client ", n)
			calling.Go(func() { call(caller) })
			synctest.Wait()
			want = append(want, caller)
		}
		calling.Wait()
		if want = append(want, "busy", "busy"); !slices.Equal(order, want) {
			t.Errorf("got %q", order)
		}
	})
}

func TestTheTurnPassesTheCallsThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn callerTurn
		acquire := func(caller any, within time.Duration) <-chan error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			got := make(chan error, 1)
			go func() {
				defer cancel()
				got <- turn.acquire(ctx, caller)
			}()
			synctest.Wait()
			return got
		}
		if err := <-acquire("alice", time.Hour); err != nil {
			t.Fatal(err)
		}
		bob, again, nobody, carol := acquire("bob", time.Second), acquire("alice", time.Hour), acquire(nil, time.Hour), acquire("carol", time.Hour)
		time.Sleep(2 * time.Second)
		if err := <-bob; err == nil {
			t.Error("bob has alice's turn")
		}
		select {
		case err := <-again: // bob was between her calls
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("alice waits for herself")
		}
		if !turn.wanted() || turn.try("alice") || turn.try(nil) {
			t.Error("a call that came later overtakes those in line")
		}
		turn.release()
		turn.release()
		if err := <-nobody; err != nil {
			t.Error(err)
		}
		turn.release()
		if err := <-carol; err != nil {
			t.Error(err)
		}
		turn.release()
		if turn.wanted() || !turn.try("dave") {
			t.Error("the turn is not free")
		}
	})
}
