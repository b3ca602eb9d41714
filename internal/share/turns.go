package share

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxWaiting is how many of one key wait for their turn: the oldest makes room for one more.
const maxWaiting = 4_096

// ErrBusy is the error where too many wait for their turn.
var ErrBusy = errors.New("too many wait for their turn")

// Turns let some things be done at a time. Callers take turns, and a [Share] of those that run is for others than the caller that
// runs most; the empty key, which is for callers that cannot be distinguished, has all. Of those that wait for one caller the newest is next, as the others are
// given up sooner. It is safe for concurrent use.
type Turns struct {
	total int

	mu      sync.Mutex
	running int
	of      map[string]*line
	order   []string // keys that wait, the next one first
}

// A line is what one key does: it is forgotten when that is nothing.
type line struct {
	running int
	waiting []*turn // the newest last
}

type turn struct {
	due  chan struct{} // closed when it is its turn, or it is refused
	busy bool
}

// NewTurns returns Turns of so many at a time.
func NewTurns(total int) *Turns { return &Turns{total: total, of: map[string]*line{}} }

// Wait waits for a turn of the key; done must be called after it. The error is [ErrBusy], or the cause of the end of ctx.
func (t *Turns) Wait(ctx context.Context, key string) (done func(), err error) {
	mine := &turn{due: make(chan struct{})}
	t.mu.Lock()
	l := t.of[key]
	if l == nil {
		l = new(line)
		t.of[key] = l
	}
	if len(l.waiting) == 0 {
		t.order = append(t.order, key)
	}
	if l.waiting = append(l.waiting, mine); len(l.waiting) > maxWaiting {
		l.waiting[0].busy = true
		close(l.waiting[0].due)
		l.waiting = slices.Delete(l.waiting, 0, 1)
	}
	t.next()
	t.mu.Unlock()
	done = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.running--
		l.running--
		t.forget(key, l)
		t.next()
	}
	select {
	case <-mine.due:
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if at := slices.Index(l.waiting, mine); at >= 0 {
			if l.waiting = slices.Delete(l.waiting, at, at+1); len(l.waiting) == 0 {
				t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == key })
			}
			t.forget(key, l)
			return nil, context.Cause(ctx)
		}
	}
	if mine.busy {
		return nil, ErrBusy
	}
	return done, nil
}

// Running is how many have their turn.
func (t *Turns) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}

// next begins turns as long as there may be more; the lock is held. A key whose turn began is the last again.
func (t *Turns) next() {
	for looked := len(t.order); looked > 0 && len(t.order) > 0 && t.running < t.total; looked-- {
		key := t.order[0]
		t.order = t.order[1:]
		l := t.of[key]
		if key == "" || l.running < t.total-Reserve(t.total) {
			last := len(l.waiting) - 1
			close(l.waiting[last].due)
			l.waiting = l.waiting[:last]
			l.running++
			t.running++
			looked = len(t.order) + 2 // those that were passed over may be next again
		}
		if len(l.waiting) > 0 {
			t.order = append(t.order, key)
		}
	}
}

// forget forgets a key that does nothing; the lock is held.
func (t *Turns) forget(key string, l *line) {
	if l.running == 0 && len(l.waiting) == 0 && t.of[key] == l {
		delete(t.of, key)
	}
}
