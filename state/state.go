// Package state keeps what outlives a request, or must be seen by another process: values under keys ([KV]) and the
// right to be the only one who does something ([Lease]). [Memory] keeps both in this process; package
// state/sqlite keeps them in a file, for the processes of one machine. Features put stores of their own on top.
//
// What is secret is sealed before it is put here.
package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxKey bounds a key and the name of a lease, in bytes.
	MaxKey = 512
	// MaxValue bounds a value, in bytes.
	MaxValue = 17 << 20
)

// What callers branch on, with errors.Is.
var (
	// ErrNotFound is returned where there is no value, or where its time is over.
	ErrNotFound = errors.New("there is no such value")
	// ErrConflict is returned where the value is not of the version that was expected.
	ErrConflict = errors.New("somebody else changed the value")
	// ErrHeld is returned where somebody else has the lease.
	ErrHeld = errors.New("somebody else has the lease")
	// ErrLost is returned where a lease ended, or was taken by somebody else after it had ended.
	ErrLost = errors.New("the lease was lost")
	// ErrTooLarge is returned for a key or a value beyond [MaxKey] or [MaxValue], and for an empty key.
	ErrTooLarge = errors.New("the key or the value is too large")
	// ErrFull is returned where there is no room for the value.
	ErrFull = errors.New("there is no room left")
)

// A Store has all of it, in one place, so that a lease of it guards values of it. Implementations are safe for
// concurrent use.
type Store interface {
	KV
	Lease
}

// KV keeps values under keys.
type KV interface {
	// Get returns the value of a key, or [ErrNotFound].
	Get(ctx context.Context, key string) (Entry, error)
	// Put sets the value of a key, whatever it was.
	Put(ctx context.Context, key string, value []byte, w Write) (Version, error)
	// CompareAndSwap sets the value of a key whose value is of a version; else it returns [ErrConflict]. The
	// version "" is that of a key without a value.
	CompareAndSwap(ctx context.Context, key string, old Version, value []byte, w Write) (Version, error)
	// Delete removes a key, if it is there, under a lease (see [Write.Hold]).
	Delete(ctx context.Context, key string, hold Hold) error
	// List returns up to limit entries whose key begins with a prefix and comes after a key, in the order of the
	// keys' bytes.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)
}

// An Entry is a value with its key.
type Entry struct {
	Key     string
	Value   []byte // the caller's own copy
	Version Version
}

// A Version names one state of a value. Each change makes another, never one that was there before.
type Version string

// Write says how a value is set.
type Write struct {
	// TTL is for how long the value is there; 0 is until it is deleted.
	TTL time.Duration
	// Hold, if not zero, makes the write fail with [ErrLost] where its lease has been released or taken by somebody
	// else: who was thought to be gone cannot write any more.
	Hold Hold
	// Owner, if not empty, says whose the value is, and that it can be spared: where a [Memory] is full, the owner that holds most
	// loses its oldest value. Other stores keep all.
	Owner string
}

// A Lease gives one caller at a time the right to do something, across all users of a store.
type Lease interface {
	// Acquire takes the lease of a name, or returns [ErrHeld] at once. It ends after ttl if it is not renewed.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Hold, error)
	// Renew makes a lease end ttl from now; [ErrLost] says that it ended before.
	Renew(ctx context.Context, hold Hold, ttl time.Duration) error
	// Release ends a lease. One that ended before is no error.
	Release(ctx context.Context, hold Hold) error
}

// A Hold is a lease that was acquired.
type Hold struct {
	Name  string
	Token uint64 // grows with each time that a lease is acquired
}

// Check returns [ErrTooLarge], with what is wrong, for a key and a value that no store takes.
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
