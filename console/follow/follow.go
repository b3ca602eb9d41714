// Package follow serves changing data to pages as server-sent events.
package follow

import (
	"net/http"
	"sync/atomic"
	"time"
)

const (
	alivePause = 15 * time.Second // if there are no events for this time, a comment is sent
	readerTime = 10 * time.Second // time within which a reader must accept sent data
)

// MaxPart is the maximum number of bytes that Next of a Stream should append in one call. Each slow
// reader holds a buffer of this size.
const MaxPart = 64 << 10

// A Stream is the data that one reader follows. Serve calls Next as fast as the reader accepts
// data, so a slow reader delays nobody else.
type Stream struct {
	// Begin is sent first.
	Begin string
	// Pause is the minimum time between two parts; changes within it are sent in one part. The zero
	// value means no pause.
	Pause time.Duration
	// Next appends new data to text. Serve calls it again when changed is closed, or at once if
	// changed is nil, until over is true.
	Next func(text []byte) (all []byte, changed <-chan struct{}, over bool)
}

// Readers counts the readers of a source. The zero value is ready for use and safe for concurrent
// use.
type Readers struct{ now atomic.Int64 }

// Serve sends the stream until it is over or the reader disconnects. If limit readers follow
// already, it sends nothing and returns false.
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
		_ = control.SetWriteDeadline(time.Now().Add(readerTime)) // if this fails, the timeout of the server applies
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

// A Ring holds the newest of the added items, which are numbered from 1. Readers can wait for
// changes. It is not safe for concurrent use.
type Ring[T any] struct {
	items   []T           // item n is at index n modulo the length
	First   uint64        // the number of the oldest item
	Next    uint64        // the number of the next item to add
	changed chan struct{} // closed by Wake; nil while no reader waits
}

// NewRing returns a Ring for at most the given number of items.
func NewRing[T any](most int) Ring[T] { return Ring[T]{items: make([]T, most), First: 1, Next: 1} }

// At returns item n, which must be in the Ring or be the next one to add.
func (r *Ring[T]) At(n uint64) *T { return &r.items[n%uint64(len(r.items))] }

// Full reports whether [Ring.Drop] must be called before the next [Ring.Add].
func (r *Ring[T]) Full() bool { return r.Next-r.First == uint64(len(r.items)) }

// Add adds an item as the newest.
func (r *Ring[T]) Add(item T) {
	*r.At(r.Next) = item
	r.Next++
}

// Drop removes the oldest item.
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

// Changed returns a channel that the next call of Wake closes.
func (r *Ring[T]) Changed() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
