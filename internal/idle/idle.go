// Package idle ends requests that are silent for too long.
package idle

import (
	"context"
	"sync"
	"time"
)

// A Timer calls a function after a time without activity of a request. It pauses while a user is
// asked. A nil Timer does nothing. It is safe for concurrent use.
type Timer struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	held    int
	stopped bool
}

// After returns a Timer that calls over after limit.
func After(limit time.Duration, over func()) *Timer {
	return &Timer{limit: limit, timer: time.AfterFunc(limit, over)}
}

// Restart restarts the time after activity of the request.
func (t *Timer) Restart() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == 0 && !t.stopped && t.timer.Stop() {
		t.timer.Reset(t.limit)
	}
}

// Hold pauses the Timer until each release has been called.
func (t *Timer) Hold() (release func()) {
	if t == nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held++
	t.timer.Stop()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.held--; t.held == 0 && !t.stopped {
			t.timer.Reset(t.limit)
		}
	}
}

// Stop stops the Timer permanently.
func (t *Timer) Stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

// Wait waits for d or until ctx is done, and returns why it is.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
