//go:build unix

package process

import (
	"testing"
	"time"
)

func TestKillAllKillsTheWholeGroupAtOnce(t *testing.T) {
	p := start(t, Command{Grace: time.Minute}, "waits for a stubborn grandchild")
	KillAll()
	closeIn(t, p, 0)
	if _, listed := all.Load(p); listed {
		t.Error("it is still listed")
	}
}

func TestTerminateDoesNotWaitForTheEndOfTheInputToBeSeen(t *testing.T) {
	p := start(t, Command{Grace: time.Minute}, "obeys TERM only")
	began := time.Now()
	if err := p.Terminate(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
