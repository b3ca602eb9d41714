//go:build unix

package process

import (
	"testing"
	"time"
)

func TestAChildIsKilledWithoutGraceOnceKillIsClosed(t *testing.T) {
	kill := make(chan struct{})
	p := start(t, Command{Grace: time.Minute, Kill: kill}, "waits for a stubborn grandchild")
	time.AfterFunc(10*time.Millisecond, func() { close(kill) })
	closeIn(t, p, 0)
}

func TestTerminateDoesNotWaitForTheEndOfTheInputToBeSeen(t *testing.T) {
	p := start(t, Command{Grace: time.Minute}, "obeys TERM only")
	began := time.Now()
	if err := p.Terminate(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
