// Package state stores data that outlives a request, or that other processes must see: values under
// keys ([KV]) and exclusive rights ([Lease]). [Memory] stores both in this process; package
// state/sqlite stores them in a file, for the processes of one machine. Features build their own
// stores on top.
//
// Callers must encrypt secrets before they store them here.
package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxKey limits a key and the name of a lease, in bytes.
	MaxKey = 512
	// MaxValue limits a value, in bytes.
	MaxValue = 17 << 20
)

// Errors for errors.Is.
var (
	// ErrNotFound means that there is no value, or that it has expired.
	ErrNotFound = errors.New("there is no such value")
	// ErrConflict means that the value does not have the expected version.
	ErrConflict = errors.New("the value was changed meanwhile")
	// ErrHeld means that another caller has the lease.
	ErrHeld = errors.New("the lease is taken")
	// ErrLost means that a lease ended, or was taken by another caller after its end.
	ErrLost = errors.New("the lease was lost")
	// ErrTooLarge means that a key or a value exceeds [MaxKey] or [MaxValue], or that a key is
	// empty.
	ErrTooLarge = errors.New("the key or the value is too large")
	// ErrFull means that there is no room for the value.
	ErrFull = errors.New("there is no room left")
)

// A Store holds values and leases together, so that a lease can guard values. Implementations are
// safe for concurrent use.
type Store interface {
	KV
	Lease
}

// KV stores values under keys.
type KV interface {
	// Get returns the value of a key, or [ErrNotFound].
	Get(ctx context.Context, key string) (Entry, error)
	// Put sets the value of a key unconditionally.
	Put(ctx context.Context, key string, value []byte, w Write) (Version, error)
	// CompareAndSwap sets the value of a key if it has the version old; otherwise it returns
	// [ErrConflict]. The version "" is that of a key without a value.
	CompareAndSwap(ctx context.Context, key string, old Version, value []byte, w Write) (Version, error)
	// Delete removes a key, if it exists, under a lease (see [Write.Hold]).
	Delete(ctx context.Context, key string, hold Hold) error
	// List returns up to limit entries whose keys have a prefix and are greater than after, in the
	// order of the keys' bytes.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)
}

// An Entry is a value with its key.
type Entry struct {
	Key     string
	Value   []byte // owned by the caller
	Version Version
}

// A Version identifies one state of a value. Each change makes a new one.
type Version string

// Write configures a write.
type Write struct {
	// TTL is the lifetime of the value; 0 means that it never expires.
	TTL time.Duration
	// Hold, if not zero, makes the write fail with [ErrLost] if its lease was released or taken by
	// another caller. So a caller that was presumed gone cannot write any more.
	Hold Hold
	// Owner, if not empty, is the owner of a value that may be evicted: if a [Memory] is full, the
	// owner with most bytes loses its oldest value. Other stores keep all values.
	Owner string
}

// A Lease gives one caller at a time an exclusive right, across all users of a store.
type Lease interface {
	// Acquire takes the lease of a name, or returns [ErrHeld] at once. The lease ends after ttl
	// unless it is renewed.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Hold, error)
	// Renew extends a lease to ttl from now. It returns [ErrLost] if the lease ended before.
	Renew(ctx context.Context, hold Hold, ttl time.Duration) error
	// Release ends a lease. It returns no error if the lease ended before.
	Release(ctx context.Context, hold Hold) error
}

// A Hold is an acquired lease.
type Hold struct {
	Name  string
	Token uint64 // greater for each acquisition
}

// Check returns [ErrTooLarge], with details, for a key and a value that no store accepts.
func Check(key string, value []byte) error {
	switch {
	case key == "" || len(key) > MaxKey:
		return fmt.Errorf("%w: the key has %d bytes, expected 1 to %d", ErrTooLarge, len(key), MaxKey)
	case len(value) > MaxValue:
		return fmt.Errorf("%w: the value has %d bytes, expected up to %d", ErrTooLarge, len(value), MaxValue)
	}
	return nil
}

const (
	// firstPause and lastPause are the shortest and longest pauses between two attempts to acquire
	// a lease.
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	// releaseTime limits the release of a lease after a cancellation.
	releaseTime = 5 * time.Second
)

// While waits for the lease of a name, runs do, and releases the lease. It renews the lease while
// do runs. If that fails for ttl, or another caller took the lease, do's context ends with
// [ErrLost]. So ttl is how long others wait if this process dies.
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
		_ = l.Release(ctx, hold) // otherwise it expires
	}()
	return do(ctx, hold)
}

// wait acquires a lease as soon as it is free.
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

// renew renews a lease until ctx is done.
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
