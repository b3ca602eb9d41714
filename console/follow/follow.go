// Package follow serves streams of server-sent events to pages that follow changing data.
package follow

import (
	"net/http"
	"sync/atomic"
	"time"
)

const (
	alivePause = 15 * time.Second // the time between two comments without events
	readerTime = 10 * time.Second // the time for a reader to take sent data
)

// MaxPart is the number of bytes that a waiting reader reserves, and that a Stream should append at
// a time. All slow readers hold this much each.
const MaxPart = 64 << 10

// A Stream is the data that one reader follows. It is read at the reader's speed, and no sender
// waits for it.
type Stream struct {
	// Begin is sent first.
	Begin string
	// Pause is the time between two parts, so that data of that time is in one part; 0 means none.
	Pause time.Duration
	// Next appends new data to text. It is called again once changed is closed, or at once if that
	// is nil. It is not called any more after over is true.
	Next func(text []byte) (all []byte, changed <-chan struct{}, over bool)
}

// Readers counts the readers of a source. The zero value has none, and its method is safe for
// concurrent use.
type Readers struct{ now atomic.Int64 }

// Serve sends the stream until it is over or the reader is gone. If limit readers already follow,
// it sends nothing and returns false.
func (a *Readers) Serve(w http.ResponseWriter, r *http.Request, limit int64, s Stream) bool {
	defer a.now.Add(-1)
	if a.now.Add(1) > limit {
		return false
	}
	serve(w, r, s)
	return true
}

func serve(w http.ResponseWriter, r *http.Request, s Stream) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(text []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(readerTime)) // if it cannot be set, the server's own holds
		if _, err := w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
	alive := time.NewTicker(alivePause)
	defer alive.Stop()
	var pause <-chan time.Time
	if s.Pause > 0 {
		ticker := time.NewTicker(s.Pause)
		defer ticker.Stop()
		pause = ticker.C
	}
	if send([]byte(s.Begin)) != nil {
		return
	}
	var text []byte
	for {
		all, changed, over := s.Next(text[:0])
		if text = all; len(text) > 0 && send(text) != nil || over {
			return
		}
		if cap(text) > 2*MaxPart {
			text = nil
		}
		for changed != nil {
			select {
			case <-changed:
				changed = nil
			case <-alive.C:
				if send([]byte(": alive\n\n")) != nil {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
		if pause == nil {
			continue
		}
		select {
		case <-pause:
		case <-r.Context().Done():
			return
		}
	}
}

// A Ring holds the newest of the added items, numbered from 1 on, for readers that follow it. It is
// not safe for concurrent use.
type Ring[T any] struct {
	items   []T           // item n at n modulo its length
	First   uint64        // the number of the oldest item
	Next    uint64        // the number of the item that is added next
	changed chan struct{} // is closed by Wake; nil while no reader waits
}

// NewRing returns a Ring of at most this many items.
func NewRing[T any](most int) Ring[T] { return Ring[T]{items: make([]T, most), First: 1, Next: 1} }

// At returns item n, which must be in the Ring, or the next one.
func (r *Ring[T]) At(n uint64) *T { return &r.items[n%uint64(len(r.items))] }

// Full reports whether an item can be added only after [Ring.Drop].
func (r *Ring[T]) Full() bool { return r.Next-r.First == uint64(len(r.items)) }

// Add adds an item.
func (r *Ring[T]) Add(item T) {
	*r.At(r.Next) = item
	r.Next++
}

// Drop drops the oldest item.
func (r *Ring[T]) Drop() {
	*r.At(r.First) = *new(T)
	r.First++
}

// Wake wakes the readers that wait for a change.
func (r *Ring[T]) Wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Changed returns a channel that the next Wake closes.
func (r *Ring[T]) Changed() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
