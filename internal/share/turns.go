package share

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxWaiting is the maximum number of waiting calls of one key. If it is exceeded, the oldest
// waiting call fails.
const maxWaiting = 4_096

// ErrBusy is returned if too many calls wait for their turn.
var ErrBusy = errors.New("too many wait for their turn")

// Turns limits the number of concurrent operations. The callers take turns. One caller alone cannot
// use all operations, as a part of them is reserved for others (see [Reserve]). The empty key
// stands for all callers that cannot be distinguished, and may use all operations. Among the
// waiting calls of one caller, the newest is started first, because older ones are more likely to
// be cancelled. Turns is safe for concurrent use.
type Turns struct {
	total int

	mu      sync.Mutex
	running int
	of      map[string]*line
	order   []string // keys with waiting calls; the next one is first
}

// A line contains the calls of one key. It is removed when there are none.
type line struct {
	running int
	waiting []*turn // the newest is last
}

type turn struct {
	due  chan struct{} // closed when the call is started or refused
	busy bool
}

// NewTurns returns a Turns that allows total concurrent operations.
func NewTurns(total int) *Turns { return &Turns{total: total, of: map[string]*line{}} }

// Wait waits for a turn of the key. The caller must call done after its operation. The error is
// [ErrBusy] or the cause of ctx.
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

// Running returns the number of running operations.
func (t *Turns) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}

// next starts waiting calls up to the limit. A key whose call was started moves to the end of the
// order. The caller holds the lock.
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
			looked = len(t.order) + 2 // keys that were skipped may be possible now
		}
		if len(l.waiting) > 0 {
			t.order = append(t.order, key)
		}
	}
}

// forget removes a key that has no calls. The caller holds the lock.
func (t *Turns) forget(key string, l *line) {
	if l.running == 0 && len(l.waiting) == 0 && t.of[key] == l {
		delete(t.of, key)
	}
}
