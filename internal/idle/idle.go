// Package idle ends requests that show no activity for too long.
package idle

import (
	"context"
	"sync"
	"time"
)

// A Timer calls a function when a request has shown no activity for some time. It can be paused
// while a user is asked. The methods of a nil Timer do nothing. A Timer is safe for concurrent use.
type Timer struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	held    int
	stopped bool
}

// After returns a Timer that calls over after limit without activity.
func After(limit time.Duration, over func()) *Timer {
	return &Timer{limit: limit, timer: time.AfterFunc(limit, over)}
}

// Restart records activity of the request: the full time begins again.
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

// Hold pauses the Timer until release is called. If several calls of Hold are active, it continues
// after the last release.
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

// Wait waits for the duration d or until ctx is done. It returns the error of ctx, or nil.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
