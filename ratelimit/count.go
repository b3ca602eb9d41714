package ratelimit

import (
	"context"
	"fmt"
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

// turns limit the calls that run at the same time.
type turns interface {
	// enter waits for a place, and reports whether it had to wait.
	enter(ctx context.Context) (waited bool, err error)
	// leave gives a place back.
	leave()
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
	switch {
	case o.Concurrent <= 0:
	case isShared:
		b.running = o.Shares.places(name+" concurrent", o.Concurrent)
	default:
		b.running = &places{most: func() int { return o.Concurrent }}
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
