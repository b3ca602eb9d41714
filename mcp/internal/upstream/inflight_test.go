package upstream

import (
	"runtime"
	"testing"
)

// A notification may begin while over is about to wake the waiters of an earlier one. Its waiter
// waits on.
func TestAWaitIsForTheNotificationsBeforeIt(t *testing.T) {
	var f inFlight
	f.begin()
	f.mu.Lock() // over stops between its count and its waking
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		f.over()
	}()
	for f.n.Load() > 0 {
		runtime.Gosched()
	}
	f.begin()
	none := make(chan struct{})
	f.none = none // as wait does
	f.mu.Unlock()
	<-woken
	select {
	case <-none:
		t.Fatal("the end of an earlier notification woke the waiter of a later one")
	default:
	}
	f.over()
	<-none
}
