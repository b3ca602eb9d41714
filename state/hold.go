package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// firstPause and lastPause are the time between two attempts to acquire a lease that somebody else has.
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	// releaseTime bounds the release of a lease whose work was given up.
	releaseTime = 5 * time.Second
)

// While waits for the lease of a name, runs do, and releases the lease. While do runs, the lease is renewed; if that
// fails for ttl, or somebody else took it, do's context ends with [ErrLost]. ttl is thus for how long others wait
// when this process dies.
func While(ctx context.Context, l Lease, name string, ttl time.Duration, do func(ctx context.Context, hold Hold) error) error {
	hold, err := wait(ctx, l, name, ttl)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		renew(ctx, l, hold, ttl, cancel)
	}()
	defer func() {
		cancel(nil)
		<-renewed
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer done()
		_ = l.Release(ctx, hold) // it ends by itself
	}()
	return do(ctx, hold)
}

// wait acquires a lease as soon as nobody has it.
func wait(ctx context.Context, l Lease, name string, ttl time.Duration) (Hold, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		hold, err := l.Acquire(ctx, name, ttl)
		if !errors.Is(err, ErrHeld) {
			return hold, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return Hold{}, fmt.Errorf("%w: %w", ErrHeld, context.Cause(ctx))
		}
	}
}

// renew keeps a lease until ctx is done.
func renew(ctx context.Context, l Lease, hold Hold, ttl time.Duration, lost func(error)) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for until := time.Now().Add(ttl); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		switch err := l.Renew(ctx, hold, ttl); {
		case err == nil:
			until = began.Add(ttl)
		case errors.Is(err, ErrLost) || !time.Now().Before(until):
			lost(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
	}
}
