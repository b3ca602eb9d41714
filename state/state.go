// Package state stores data that outlives a request or that several processes share. A [KV] stores
// values under keys, a [Lease] gives exclusive rights, a [Log] keeps records in order, a
// [Signal] tells other processes to look again, and a [Clock] has the time. A [Shared] store has all. A [Memory] is one in
// this process; package state/sqlite has one in a file, for the processes of one machine. Package
// state/dial opens a store by its URL. Features build their own stores on these.
//
// Callers must encrypt secrets before they store them here.
package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MaxKey is the largest length in bytes of a key, of the name of a lease, or of a topic.
	MaxKey = 512
	// MaxValue is the largest size of a value in bytes.
	MaxValue = 17 << 20
	// MaxRead is the size of values at which one call of [Log.Read] ends early.
	MaxRead = 32 << 20
)

// Errors for errors.Is.
var (
	// ErrNotFound means that there is no value, or that it has expired.
	ErrNotFound = errors.New("there is no such value")
	// ErrConflict means that the value does not have the expected version.
	ErrConflict = errors.New("the value was changed meanwhile")
	// ErrHeld means that another caller holds the lease.
	ErrHeld = errors.New("the lease is taken")
	// ErrLost means that the lease has ended, and that another caller may hold it now.
	ErrLost = errors.New("the lease was lost")
	// ErrTooLarge means that a key or a value exceeds [MaxKey] or [MaxValue], or that a key is
	// empty.
	ErrTooLarge = errors.New("the key or the value is too large")
	// ErrFull means that the store has no room for the value.
	ErrFull = errors.New("there is no room left")
	// ErrGroup means that the lease of a write is not in the [Group] of its key.
	ErrGroup = errors.New("the lease is for other keys")
	// ErrTrimmed means that records after the position were removed, or that the log has ended.
	ErrTrimmed = errors.New("the log has lost records after this position")
	// ErrUnavailable means that the store cannot be reached now. The operation has had no effect,
	// unless the error is also [ErrUncertain]. A later attempt may succeed.
	ErrUnavailable = errors.New("the store cannot be reached")
	// ErrUncertain means that the connection to the store was lost during a write, which may or may
	// not have had its effect. A Put, a Delete, a Renew, a Release and a Trim can be repeated. After
	// a CompareAndSwap, Get shows which value the key has. A repeated Append may add the record
	// twice. A lease that was acquired so ends after its ttl.
	ErrUncertain = errors.New("the write may have been done")
)

// A Shared store has everything that features share through it. Implementations are safe for
// concurrent use.
type Shared interface {
	Store
	Log
	Signal
	Clock
	// Close ends all subscriptions and closes the store.
	Close() error
}

// A Store has values and leases together, so that a lease can protect values. Implementations are
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
	// CompareAndSwap sets the value of a key if the current version is old, and otherwise returns
	// [ErrConflict]. A key without a value has the version "".
	CompareAndSwap(ctx context.Context, key string, old Version, value []byte, w Write) (Version, error)
	// Delete removes a key if it exists. hold is as in [Write].
	Delete(ctx context.Context, key string, hold Hold) error
	// List returns up to limit entries whose keys have the prefix and are greater than after. They
	// are in the byte order of their keys.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)
}

// An Entry is a value with its key.
type Entry struct {
	Key     string
	Value   []byte // owned by the caller
	Version Version
}

// A Version identifies one state of a value. Each change creates a new Version.
type Version string

// Write configures a write.
type Write struct {
	// TTL is the lifetime of the value; 0 means that it never expires.
	TTL time.Duration
	// Hold protects the write by a lease, unless it is zero. The write fails with [ErrLost] if the
	// lease was released or belongs to another caller. So a caller whose lease expired while it was
	// stopped can no longer write. The lease must be in the [Group] of the key.
	Hold Hold
	// Owner is the owner of a value that may be evicted, unless it is empty. If a [Memory] is full,
	// the owner with the most bytes loses the oldest of their values. Other stores evict nothing.
	Owner string
}

// A Lease gives an exclusive right to one caller at a time, among all users of the store.
type Lease interface {
	// Acquire takes the lease with a name. If another caller holds it, Acquire returns [ErrHeld] at
	// once. The lease ends after ttl unless it is renewed.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Hold, error)
	// Renew extends a lease to ttl from now. It returns [ErrLost] if the lease has already ended.
	Renew(ctx context.Context, hold Hold, ttl time.Duration) error
	// Release ends a lease. It returns nil if the lease has already ended.
	Release(ctx context.Context, hold Hold) error
}

// A Log keeps records in order under keys, which are other keys than those of a [KV]. Positions of
// a key grow, are never issued twice, and are never 0. A reader that continues after the last
// position that it has seen misses no record and sees none twice.
type Log interface {
	// Append adds a record at the end of a log, and returns its position. After w.TTL without
	// another Append, the log loses all records.
	Append(ctx context.Context, key string, value []byte, w Write) (position uint64, err error)
	// Read returns up to limit records after a position, in order. It may return fewer, such as when
	// their size exceeds [MaxRead], but at least one if there is one. Position 0 is before the first
	// record. For another position, Read returns [ErrTrimmed] if a record after it was removed.
	Read(ctx context.Context, key string, after uint64, limit int) ([]Record, error)
	// Trim removes the oldest records until the log exceeds no limit of keep. hold is as in [Write].
	Trim(ctx context.Context, key string, keep Keep, hold Hold) error
}

// A Record is a value in a [Log].
type Record struct {
	Position uint64
	Value    []byte // owned by the caller
}

// Keep limits the records of a log. Zero fields set no limit.
type Keep struct {
	Count int           // number of records; a negative number removes the log
	Bytes int           // size of the values together
	Age   time.Duration // time since Append
}

// A Signal carries hints to look again. Hints may be lost: who relies on a change also looks from
// time to time.
type Signal interface {
	// Publish sends a hint to the subscribers of a topic in all processes.
	Publish(ctx context.Context, topic string) error
	// Subscribe returns a channel that receives a value when the topic has a hint, or when hints may
	// have been lost. Hints that nobody has received yet become one. The channel is closed when ctx
	// is done or the store is closed.
	Subscribe(ctx context.Context, topic string) (<-chan struct{}, error)
}

// A Clock has the time that all users of the store have in common, as the clocks of their machines may
// differ. It is the time by which values expire.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// A Hold is an acquired lease.
type Hold struct {
	Name  string
	Token uint64 // increases with each acquisition of the lease
}

// Group returns the text of a key or a name up to its first slash, or "" if there is none. A server
// of several machines stores what has the same group on one of them.
func Group(key string) string {
	group, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return group
}

// CheckHold returns [ErrGroup], with details, if no store can protect a write of the key by the
// lease.
func CheckHold(key string, hold Hold) error {
	if hold != (Hold{}) && Group(key) != Group(hold.Name) {
		return fmt.Errorf("%w: the name of the lease and the key begin with different texts before their first slash, %.40q and %.40q",
			ErrGroup, Group(hold.Name), Group(key))
	}
	return nil
}

// Check returns [ErrTooLarge], with details, for a key or value that no store accepts.
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
	// releaseTime is the time limit for the release of a lease after do returns.
	releaseTime = 5 * time.Second
)

// While waits for the lease with a name, runs do, and releases the lease. It renews the lease while
// do runs. If it cannot renew the lease for ttl, or if another caller holds the lease, the context
// of do ends with [ErrLost]. If this process dies, others wait up to ttl.
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
		_ = l.Release(ctx, hold) // after an error the lease expires
	}()
	return do(ctx, hold)
}

// wait acquires a lease, and retries while another caller holds it.
func wait(ctx context.Context, l Lease, name string, ttl time.Duration) (Hold, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		hold, err := l.Acquire(ctx, name, ttl)
		if err != nil && ctx.Err() != nil && pause > firstPause {
			return Hold{}, fmt.Errorf("%w: %w", ErrHeld, context.Cause(ctx)) // it was before
		}
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

// renew renews a lease until ctx is done, sooner after a failure than after a success. It calls lost
// when the lease is lost.
func renew(ctx context.Context, l Lease, hold Hold, ttl time.Duration, lost func(error)) {
	next := time.NewTimer(ttl / 3)
	defer next.Stop()
	for until := time.Now().Add(ttl); ; {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		next.Reset(ttl / 20)
		switch err := l.Renew(ctx, hold, ttl); {
		case err == nil:
			until = began.Add(ttl)
			next.Reset(ttl / 3)
		case errors.Is(err, ErrLost) || !time.Now().Before(until):
			lost(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
	}
}
