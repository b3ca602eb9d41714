package ratelimit

import (
	"context"
	"sync"
)

// places are taken by running calls. Waiting calls get them in order.
type places struct {
	most func() int // number of places, which may change

	mu      sync.Mutex
	taken   int
	passed  uint64          // number of waiting calls that got a place
	waiting []chan struct{} // each is closed when its call has a place
}

// enter waits for a place, and reports whether it had to wait.
func (p *places) enter(ctx context.Context) (waited bool, err error) {
	p.mu.Lock()
	if p.taken < p.most() && len(p.waiting) == 0 {
		p.taken++
		p.mu.Unlock()
		return false, nil
	}
	turn := make(chan struct{})
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return true, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting {
		if other == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return true, context.Cause(ctx)
		}
	}
	p.taken-- // the place came too late
	p.pass()
	return true, context.Cause(ctx)
}

// leave gives a place back.
func (p *places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.pass()
}

// pass gives free places to waiting calls. The caller holds the lock.
func (p *places) pass() {
	for len(p.waiting) > 0 && p.taken < p.most() {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.taken++
		p.passed++
	}
}
