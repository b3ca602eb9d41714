package upstream

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
)

// Some goroutines that sent a request wait for another, but no longer than the connection lasts.
func TestWorkersAreUsedAgainAndEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c := newConn(l, mcp.ConnectOptions{Name: "test"})
		var running sync.WaitGroup
		hold := make(chan struct{})
		for range 3 * maxWaitingWorkers {
			running.Add(1)
			if !c.inWorker(func() { defer running.Done(); <-hold }) {
				t.Fatal("an open connection takes no work")
			}
		}
		close(hold)
		running.Wait()
		synctest.Wait()
		if n := c.waiting.Load(); n != maxWaitingWorkers {
			t.Errorf("%d wait, want %d", n, maxWaitingWorkers)
		}
		running.Add(1)
		c.inWorker(running.Done)
		running.Wait()
		synctest.Wait()
		if n := c.waiting.Load(); n != maxWaitingWorkers {
			t.Errorf("%d wait after one more, want %d", n, maxWaitingWorkers)
		}
		c.Close()
		c.owned.Wait() // the bubble fails if one continues
		if c.inWorker(func() {}) {
			t.Error("a closed connection takes work")
		}
	})
}
