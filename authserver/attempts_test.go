package authserver

import (
	"fmt"
	"testing"
	"time"
)

// If there are too many counters, those with the fewest attempts are dropped, the oldest first. An
// attacker cannot reset a counter by trying other names.
func TestAttemptsThatCountMostAreKept(t *testing.T) {
	var a attempts
	now := time.Now()
	for range 10 {
		if !a.take(now, time.Hour, attempt{"eve", 10}) {
			t.Fatal("an attempt of 10 is refused")
		}
	}
	a.take(now, time.Hour, attempt{"first", 10})
	now = now.Add(time.Second)
	for i := range maxAttempted + 100 {
		a.take(now, time.Hour, attempt{fmt.Sprint("name ", i), 10})
	}
	if a.take(now, time.Hour, attempt{"eve", 10}) {
		t.Error("what was tried before is forgotten")
	}
	if a.by["first"] != nil || a.by[fmt.Sprint("name ", maxAttempted+99)] == nil || len(a.by) != maxAttempted {
		t.Errorf("the oldest is there: %t; %d are counted", a.by["first"] != nil, len(a.by))
	}
	if !a.take(now.Add(2*time.Hour), time.Hour, attempt{"eve", 10}) {
		t.Error("after the time there is no attempt")
	}
}
