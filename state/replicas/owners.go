package replicas

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/state"
)

const (
	// OwnerTime is how long after its last sign of life a replica may own things. No other replica
	// takes them before.
	OwnerTime = 12 * time.Second
	// ownerMargin is the part of OwnerTime in which a replica that cannot renew its lease ends what
	// it owns. A program has four seconds to end before it is killed.
	ownerMargin   = 5 * time.Second
	ownerPause    = 2 * time.Second  // time between two renewals
	recordTime    = time.Hour        // lifetime of a record
	recordPause   = 20 * time.Minute // time between two renewals of a record
	probeTime     = time.Second      // lease of a replica that looks whether another one still runs
	maxClaims     = 8                // attempts to write a record that others change at the same time
	maxKnown      = 10_000           // owners that a replica remembers
	ownersPrefix  = "owners/of/"
	holdersPrefix = "owners/replica/"
)

// Errors for errors.Is.
var (
	// ErrLeaves means that the replica is about to end, and claims nothing any more.
	ErrLeaves = errors.New("this replica is about to end")
	// ErrOwnerLost is the cause of the end of what the replica owned, if it cannot renew its lease.
	ErrOwnerLost = errors.New("the replica could not renew its lease in the shared state")
)

// An ElsewhereError means that another replica owns something.
type ElsewhereError struct{ Replica string }

// Error names the replica.
func (e *ElsewhereError) Error() string { return "another replica has it: " + e.Replica }

// Owners gives things to one replica of a Group each, such as the only instance of a server. The
// replica has a lease, and a record for each thing that names it. A thing moves when its replica
// gives it back, or when the lease of the replica is over. A replica that cannot renew its lease
// stops what it owns before that. Owners is safe for concurrent use.
type Owners struct {
	group  *Group
	log    *slog.Logger
	leaves chan struct{} // closed by Leave

	mu      sync.Mutex
	left    bool
	term    *term // nil without a lease
	rights  int   // rights of all terms that were not given back
	held    map[string]*held
	known   map[string]string    // owners of things, as last seen
	avoided map[string]time.Time // replicas that could not be reached, until when
}

// A term is the time for which a replica has one lease.
type term struct {
	hold   state.Hold
	until  time.Time // when owned things must end, by the monotonic clock
	ctx    context.Context
	end    context.CancelCauseFunc
	expiry *time.Timer
}

// A held is a thing that this replica owns, or is about to.
type held struct {
	turn     chan struct{} // has a value while a goroutine changes the record
	waiting  int           // goroutines that use turn; guarded by the lock of Owners
	rights   int           // guarded by the lock of Owners
	term     *term         // nil while there is no record; guarded by the lock of Owners
	recorded time.Time     // guarded by the lock of Owners
}

// A record names the owner of a thing in the store.
type record struct {
	Replica string `json:"replica"`
	Token   uint64 `json:"token"` // of the owner's lease
}

// A Right is the right to own a thing. The holder must stop as soon as Context is done, and call
// Release when it has stopped. It should stop when Leaves is closed and nobody uses the thing.
type Right struct {
	Context context.Context
	Leaves  <-chan struct{}
	Release func()
}

// NewOwners returns an Owners for a Group. [Owners.Run] gets the lease, without which the replica
// owns nothing.
func NewOwners(g *Group, log *slog.Logger) *Owners {
	return &Owners{group: g, log: log, leaves: make(chan struct{}), held: map[string]*held{}, known: map[string]string{}, avoided: map[string]time.Time{}}
}

// Run holds the lease of the replica until ctx is done. All rights must be given back by then.
func (o *Owners) Run(ctx context.Context) {
	ticker := time.NewTicker(ownerPause)
	defer ticker.Stop()
	defer o.resign(ctx)
	for {
		o.renew(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// renew renews the lease, or acquires one once nothing of the previous term runs.
func (o *Owners) renew(ctx context.Context) {
	o.mu.Lock()
	t, rights := o.term, o.rights
	o.mu.Unlock()
	began := time.Now()
	switch {
	case t != nil:
		err := o.group.Renew(ctx, t.hold, OwnerTime)
		if err == nil {
			o.extend(t, began)
			o.renewRecords(ctx, t)
		} else if errors.Is(err, state.ErrLost) {
			o.lose(t, err)
		}
	case rights == 0:
		hold, err := o.group.Acquire(ctx, holdersPrefix+o.group.id, OwnerTime)
		if err != nil {
			o.log.DebugContext(ctx, "no lease for servers that run at one replica", "error", err)
			return
		}
		t = &term{hold: hold}
		t.ctx, t.end = context.WithCancelCause(context.WithoutCancel(ctx))
		o.mu.Lock()
		o.term = t
		o.mu.Unlock()
		o.extend(t, began)
	}
}

// extend notes that the lease was renewed at a time.
func (o *Owners) extend(t *term, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.until = at.Add(OwnerTime - ownerMargin); t.expiry != nil {
		t.expiry.Stop()
	}
	t.expiry = time.AfterFunc(time.Until(t.until), func() { o.lose(t, state.ErrUnavailable) })
}

// lose ends a term, unless the lease was renewed in the meantime.
func (o *Owners) lose(t *term, err error) {
	o.mu.Lock()
	lost := o.term == t && (errors.Is(err, state.ErrLost) || !time.Now().Before(t.until))
	rights := o.rights
	if lost {
		o.term = nil
		t.expiry.Stop()
		clear(o.known)
	}
	o.mu.Unlock()
	if !lost {
		return
	}
	t.end(ErrOwnerLost)
	if rights > 0 {
		o.log.Warn("this replica could not renew its lease, and ends the instances of servers that it owns: their state is lost", "instances", rights, "error", err)
	}
}

// renewRecords extends the lifetime of records that are some minutes old.
func (o *Owners) renewRecords(ctx context.Context, t *term) {
	var due []string
	o.mu.Lock()
	for key, h := range o.held {
		if h.term == t && h.rights > 0 && time.Since(h.recorded) >= recordPause {
			due = append(due, key)
		}
	}
	o.mu.Unlock()
	for _, key := range due {
		if _, err := o.group.Put(ctx, ownersPrefix+key, o.record(t), state.Write{TTL: recordTime, Hold: t.hold}); err != nil {
			continue // the next renewal tries again
		}
		o.mu.Lock()
		if h := o.held[key]; h != nil {
			h.recorded = time.Now()
		}
		o.mu.Unlock()
	}
}

// resign gives the lease back.
func (o *Owners) resign(ctx context.Context) {
	o.mu.Lock()
	t, rights := o.term, o.rights
	o.term = nil
	if t != nil {
		t.expiry.Stop()
	}
	o.mu.Unlock()
	if t == nil {
		return
	}
	t.end(ErrOwnerLost)
	if rights > 0 {
		return // something may still run, so the lease expires by itself
	}
	_ = o.group.Release(context.WithoutCancel(ctx), t.hold) // after an error it expires
}

// Leave makes the replica claim nothing any more, and asks the holders of its rights to stop when
// nobody uses what they own.
func (o *Owners) Leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.left {
		o.left = true
		close(o.leaves)
	}
}

// ID returns the identity of this replica.
func (o *Owners) ID() string { return o.group.id }

// Find returns the replica that owns a thing. If none does, it returns the one that should: the
// replicas share the things evenly, and agree on each.
func (o *Owners) Find(ctx context.Context, key string) (replica string, err error) {
	o.mu.Lock()
	h, now := o.held[key], time.Now()
	if h != nil && h.term != nil && h.term == o.term && h.rights > 0 {
		o.mu.Unlock()
		return o.group.id, nil
	}
	replica = o.known[key]
	o.mu.Unlock()
	if replica != "" {
		return replica, nil
	}
	r, _, err := o.read(ctx, key)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return o.choose(ctx, key, now)
	case err != nil:
		return "", err
	}
	if r.Replica != o.group.id {
		o.mu.Lock()
		if len(o.known) >= maxKnown {
			clear(o.known)
		}
		o.known[key] = r.Replica
		o.mu.Unlock()
	}
	return r.Replica, nil
}

// Forget makes Find look into the store again, if it returned replica. For the time avoid, Find gives
// nothing new to the replica.
func (o *Owners) Forget(key, replica string, avoid time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known[key] == replica {
		delete(o.known, key)
	}
	now := time.Now()
	maps.DeleteFunc(o.avoided, func(_ string, until time.Time) bool { return now.After(until) })
	if until := now.Add(avoid); until.After(o.avoided[replica]) {
		o.avoided[replica] = until
	}
}

// Avoids reports whether the time of [Owners.Forget] for a replica is not over.
func (o *Owners) Avoids(replica string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Before(o.avoided[replica])
}

// choose returns the replica that should own a thing: the first one in an order that the key
// decides. So few things have another replica when one comes or goes.
func (o *Owners) choose(ctx context.Context, key string, now time.Time) (string, error) {
	all, err := o.group.Members(ctx)
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	all = slices.DeleteFunc(all, func(id string) bool { return id == o.group.id || now.Before(o.avoided[id]) })
	left := o.left
	o.mu.Unlock()
	if !left || len(all) == 0 {
		all = append(all, o.group.id)
	}
	weight := func(id string) uint64 {
		sum := sha256.Sum256([]byte(key + " " + id))
		return binary.BigEndian.Uint64(sum[:])
	}
	return slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) }), nil
}

// Claim returns a right of this replica to own a thing, which the log calls what. It returns an [ElsewhereError] if another
// replica that still runs owns it, and an error of the store if it cannot find out.
func (o *Owners) Claim(ctx context.Context, key, what string) (Right, error) {
	o.mu.Lock()
	h := o.held[key]
	if h == nil {
		h = &held{turn: make(chan struct{}, 1)}
		o.held[key] = h
	}
	h.waiting++
	o.mu.Unlock()
	defer o.leave(key, h)
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return Right{}, context.Cause(ctx)
	}
	defer func() { <-h.turn }()
	o.mu.Lock()
	t, left := o.term, o.left
	mine := t != nil && h.term == t && h.rights > 0
	has := t != nil && time.Now().Before(t.until)
	o.mu.Unlock()
	switch {
	case left:
		return Right{}, ErrLeaves
	case !has:
		return Right{}, fmt.Errorf("%w: this replica has no lease", state.ErrUnavailable)
	case !mine:
		if err := o.take(context.WithoutCancel(ctx), key, what, t); err != nil { // each operation ends in bounded time
			return Right{}, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.term != t {
		return Right{}, ErrOwnerLost
	}
	if !mine {
		h.term, h.recorded = t, time.Now()
	}
	h.rights++
	o.rights++
	return Right{t.ctx, o.leaves, sync.OnceFunc(func() { o.release(context.WithoutCancel(ctx), key, h, t) })}, nil
}

// leave forgets a thing that is neither owned nor claimed.
func (o *Owners) leave(key string, h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h.waiting--; h.waiting == 0 && h.rights == 0 {
		delete(o.held, key)
	}
}

// release gives a right back. The last one of a thing removes its record.
func (o *Owners) release(ctx context.Context, key string, h *held, t *term) {
	o.mu.Lock()
	h.waiting++
	o.mu.Unlock()
	defer o.leave(key, h)
	h.turn <- struct{}{} // others hold it for bounded time
	defer func() { <-h.turn }()
	o.mu.Lock()
	h.rights--
	o.rights--
	last := h.rights == 0 && h.term == t
	if last {
		h.term = nil
	}
	o.mu.Unlock()
	if last {
		_ = o.group.Delete(ctx, ownersPrefix+key, t.hold) // after an error, other replicas ask this one first
	}
}

// take writes the record of a thing, once no other replica that still runs has it.
func (o *Owners) take(ctx context.Context, key, what string, t *term) error {
	for range maxClaims {
		r, version, err := o.read(ctx, key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
		if r.Replica == o.group.id && r.Token == t.hold.Token {
			return nil // of an earlier claim whose response, or whose end, was lost
		}
		moved := r.Replica != "" && r.Replica != o.group.id
		if moved {
			runs, err := o.runs(ctx, r.Replica)
			if err != nil {
				return err
			}
			if runs {
				return &ElsewhereError{r.Replica}
			}
		}
		_, err = o.group.CompareAndSwap(ctx, ownersPrefix+key, version, o.record(t), state.Write{TTL: recordTime, Hold: t.hold})
		switch {
		case err == nil:
			if moved {
				o.log.WarnContext(ctx, what+" moves to this replica, as the one that ran it has ended: its state is lost", "replica", r.Replica)
			}
			return nil
		case errors.Is(err, state.ErrConflict), errors.Is(err, state.ErrUncertain): // the next round reads the record
		case errors.Is(err, state.ErrLost):
			o.lose(t, err)
			return err
		default:
			return err
		}
	}
	return fmt.Errorf("%w: other replicas claim it at the same time", state.ErrConflict)
}

// runs reports whether the lease of a replica is not over. If it is over, the replica cannot write
// with it any more.
func (o *Owners) runs(ctx context.Context, replica string) (bool, error) {
	hold, err := o.group.Acquire(ctx, holdersPrefix+replica, probeTime)
	switch {
	case errors.Is(err, state.ErrHeld):
		return true, nil
	case err != nil:
		return false, err
	}
	_ = o.group.Release(ctx, hold) // after an error it expires
	return false, nil
}

// read returns the record of a thing and its version.
func (o *Owners) read(ctx context.Context, key string) (r record, version state.Version, err error) {
	e, err := o.group.Get(ctx, ownersPrefix+key)
	if err != nil {
		return r, "", err
	}
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, "", fmt.Errorf("the owner of %s in the shared state: %w", key, err)
	}
	return r, e.Version, nil
}

// record returns the record of a thing that belongs to this replica in a term.
func (o *Owners) record(t *term) []byte {
	text, _ := json.Marshal(record{o.group.id, t.hold.Token}) // cannot fail
	return text
}
