package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A counter counts the events that a limit allows.
type counter interface {
	// take counts an event, or returns the time until the next one may begin.
	take(ctx context.Context) (pause time.Duration, ok bool)
}

// A volume counts events that nothing refuses.
type volume interface {
	// over returns the number of events beyond the limit, which is negative below it.
	over(now time.Time) float64
	spend(n int)
}

// bucket returns the empty counts of a key.
func (l *Limiter) bucket(key any) *bucket {
	o, b := &l.options, &bucket{}
	name, isShared := l.shared(key)
	count := func(kind string, n int, in time.Duration) counter {
		switch {
		case n <= 0:
			return nil
		case isShared:
			return o.Shares.count(name+" "+kind, n, in)
		}
		return localCount{limiter(n, in)}
	}
	b.rate, b.rest = count("calls", o.Calls, o.In), count("rest", o.Rest, o.In)
	if isShared && o.Bytes > 0 {
		c := o.Shares.count(name+" bytes", o.Bytes, o.BytesIn)
		c.after = true
		b.bytes = c
	} else if o.Bytes > 0 {
		b.bytes = localCount{limiter(o.Bytes, o.BytesIn)}
	}
	if o.Concurrent > 0 {
		b.running = &places{most: func() int {
			if !isShared {
				return o.Concurrent
			}
			n := o.Shares.group.Count()
			return (o.Concurrent + n - 1) / n
		}}
	}
	return b
}

// shared returns the name of a key's counts at all replicas. isShared is false for counts of this
// replica alone.
func (l *Limiter) shared(key any) (name string, isShared bool) {
	if l.options.Shares == nil {
		return "", false
	}
	switch key := key.(type) {
	case nil:
		return l.options.Name, true
	case user:
		return fmt.Sprintf("%s %q %q", l.options.Name, key.issuer, key.subject), key.subject != ""
	}
	return "", false
}

func limiter(n int, in time.Duration) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(n)/in.Seconds()), n)
}

// A localCount counts events in this process.
type localCount struct{ *rate.Limiter }

func (c localCount) take(context.Context) (pause time.Duration, ok bool) {
	if c.Allow() {
		return 0, true
	}
	due := c.Reserve()
	if pause = due.Delay(); pause > 0 {
		due.Cancel()
	}
	return pause, pause == 0
}

func (c localCount) over(now time.Time) float64 { return -c.TokensAt(now) }

func (c localCount) spend(n int) {
	for ; n > 0; n -= c.Burst() {
		c.ReserveN(time.Now(), min(n, c.Burst()))
	}
}

// places are taken by running calls. Waiting calls get them in order.
type places struct {
	most func() int // number of places, which may change

	mu      sync.Mutex
	taken   int
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
	}
}
