package edge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestBoundRoundsAreShared has one caller leave as many rounds open as it can. Rounds of another one are still waited for, until
// they come or are given up.
func TestBoundRoundsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table boundTable
		for range 2 * maxBound {
			table.add("greedy", time.Now())
		}
		if n := len(table.rounds); n == 0 || n > maxBound/2 {
			t.Errorf("%d rounds of one caller", n)
		}
		id := table.add("other", time.Now())
		if _, known := table.rounds[id]; !known {
			t.Error("another caller has no room")
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if table.wait(soon) == nil {
			t.Error("it does not wait")
		}
		time.Sleep(boundTime)
		if err := table.wait(t.Context()); err != nil || table.places.Used() != 0 {
			t.Errorf("%v, %d places in use", err, table.places.Used())
		}
		for i := range 3 {
			id := table.add(fmt.Sprint(i), time.Now())
			waited := make(chan error, 1)
			go func() { waited <- table.wait(t.Context()) }()
			synctest.Wait()
			table.came(id)
			if err := <-waited; err != nil {
				t.Error(err)
			}
		}
	})
}
