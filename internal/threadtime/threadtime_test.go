package threadtime

import (
	"runtime"
	"testing"
	"time"
)

// busy keeps the processor busy for d of wall-clock time.
func busy(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func TestWorkCosts(t *testing.T) {
	var cost time.Duration
	for cost == 0 { // on a busy machine others may use the processor all the time
		cost = Of(func() { busy(20 * time.Millisecond) })
	}
	if cost < 0 {
		t.Errorf("it cost %v", cost)
	}
}

func TestTimeOfOtherThreadsIsNotCounted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the clock is known here")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		busy(100 * time.Millisecond)
	}()
	began := time.Now()
	cost := Of(func() { <-done })
	if took := time.Since(began); cost > took/2 {
		t.Errorf("waiting cost %v of %v", cost, took)
	}
}
