package inspect

import (
	"context"
	"sync"
	"time"
)

// A clock ends a request of which nothing is heard; it stands while the user is asked.
type clock struct {
	ctx context.Context

	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	holds int
}

func (k *clock) begin(limit time.Duration, over func()) {
	k.limit, k.timer = limit, time.AfterFunc(limit, over)
}

func (k *clock) end() { k.timer.Stop() }

// restart gives the request its time again.
func (k *clock) restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds == 0 && k.timer.Stop() {
		k.timer.Reset(k.limit)
	}
}

// hold has the clock stand until release.
func (k *clock) hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds++
	k.timer.Stop()
}

func (k *clock) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds--; k.holds == 0 && k.ctx.Err() == nil {
		k.timer.Reset(k.limit)
	}
}
