package traffic

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The limits of what waits for one who watches. What is more is missed.
const (
	maxWaiting      = 4_096    // messages
	maxWaitingBytes = 32 << 20 // of them
)

const (
	// watchPause is how long a message waits for others that are shown with it: to wake who watches costs far more than a
	// message does.
	watchPause    = 20 * time.Millisecond
	maxBatch      = 256       // messages that are shown together
	maxBatchBytes = 256 << 10 // of them, but for a larger one

	maxShared = 16 // messages that many events have, of which it is known what is shown
)

// What waits is copied into pieces that hold many, and the newest of them is used again when nothing waits. They grow from
// the first of these sizes to the second.
const (
	fewEvents, manyEvents = 16, 1_024
	fewBytes, manyBytes   = 8 << 10, 256 << 10
)

// Watch calls show with every message from now on, one after the other, until ctx is done, and what came before that was
// shown, or show returns an error, which Watch returns. An event belongs to show.
func (l *Log) Watch(ctx context.Context, show func(*Event) error) error {
	return l.Join(true)(ctx, func(events []*Event) error {
		for _, e := range events {
			one := *e
			one.ID, one.Message = bytes.Clone(e.ID), bytes.Clone(e.Message)
			if err := show(&one); err != nil {
				return err
			}
		}
		return nil
	})
}

// Join is Watch in two steps: what goes from now on is kept for watch, which must be called, once. Messages that come close
// to each other are shown together; they are valid until show returns. Without notes there are none, and nobody has to make them.
func (l *Log) Join(notes bool) (watch func(ctx context.Context, show func([]*Event) error) error) {
	w := &watcher{notes: notes, also: &l.also, ready: make(chan struct{}, 1), full: make(chan struct{}, 1), events: make([]*Event, maxWaiting)}
	l.mu.Lock()
	l.watchers = append(l.watchers, w)
	l.mu.Unlock()
	if notes { // first: whoever finds that somebody watches finds also whether notes are wanted
		l.noting.Add(1)
	}
	l.watching.Add(1)
	return func(ctx context.Context, show func([]*Event) error) error {
		defer l.leave(w)
		return w.show(ctx, show)
	}
}

func (l *Log) leave(w *watcher) {
	l.watching.Add(-1)
	if w.notes {
		l.noting.Add(-1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = slices.DeleteFunc(slices.Clone(l.watchers), func(one *watcher) bool { return one == w })
}

// A watcher is one who watches.
type watcher struct {
	notes bool // are shown, too
	also  *atomic.Pointer[func(*Event) json.RawMessage]
	ready chan struct{} // there is a first message
	full  chan struct{} // there are so many that the pause ends

	mu     sync.Mutex
	events []*Event // those that wait are a ring
	first  int      // the oldest one
	count  int
	bytes  int64
	missed int     // since the newest one
	slab   []Event // of it, used are those that wait or did
	used   int
	texts  []byte // behind what is in it are the next messages

	batch []*Event // being shown
	shown []Event  // what batch has
	text  []byte   // what their messages are in

	shared []shared // the messages that many events have
	oldest int      // of shared, when it is full
}

// add gives a message to one who watches, and waits for nothing.
func (w *watcher) add(e *Event) {
	if e.Kind == Note && !w.notes {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	places, size := 1, e.weight()
	if w.missed > 0 {
		places = 2
	}
	if w.count+places > maxWaiting || w.bytes+size > maxWaitingBytes {
		w.missed++
		return
	}
	if w.missed > 0 {
		w.push(w.dropped(e.Time), 0)
	}
	w.push(w.keep(e), size)
	if w.count == places {
		signal(w.ready)
	}
	if w.count > maxWaiting/2 || w.bytes > maxWaitingBytes/2 {
		signal(w.full)
	}
}

// keep returns a copy of an event that has nothing of it; mu is held.
func (w *watcher) keep(e *Event) *Event {
	if w.used == len(w.slab) {
		w.slab, w.used = make([]Event, min(max(fewEvents, 2*len(w.slab)), manyEvents)), 0
	}
	kept := &w.slab[w.used]
	w.used++
	*kept = *e
	if kept.ID = w.copied(e.ID); !e.Shared {
		kept.Message = w.copied(e.Message)
	}
	return kept
}

func (w *watcher) copied(text []byte) []byte {
	switch {
	case len(text) == 0:
		return nil
	case len(text) > fewBytes/4:
		return bytes.Clone(text)
	case len(text) > cap(w.texts)-len(w.texts):
		w.texts = make([]byte, 0, min(max(fewBytes, 2*cap(w.texts)), manyBytes))
	}
	at := len(w.texts)
	w.texts = append(w.texts, text...)
	return w.texts[at:len(w.texts):len(w.texts)]
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push adds a message; mu is held.
func (w *watcher) push(e *Event, size int64) {
	w.events[(w.first+w.count)%len(w.events)] = e
	w.count++
	w.bytes += size
}

// dropped says how many messages were missed; mu is held.
func (w *watcher) dropped(at time.Time) *Event {
	e := &Event{Time: at, Kind: Dropped, Count: w.missed}
	w.missed = 0
	return e
}

// show shows what comes until ctx is done.
func (w *watcher) show(ctx context.Context, show func([]*Event) error) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-w.ready:
			pause.Reset(watchPause)
			select {
			case <-pause.C:
			case <-w.full:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		ends := ctx.Err() != nil
		for left := w.waiting(); left > 0; left -= len(w.batch) {
			w.take()
			if err := show(w.batch); err != nil {
				return err
			}
			w.release()
		}
		if ends {
			return context.Cause(ctx)
		}
	}
}

// waiting is how many messages wait.
func (w *watcher) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 && w.missed > 0 {
		w.push(w.dropped(time.Now()), 0)
	}
	return w.count
}

// take makes a batch of the oldest messages that wait. They count until they are released.
func (w *watcher) take() {
	w.mu.Lock()
	w.batch = w.batch[:0]
	for size := int64(0); len(w.batch) < min(w.count, maxBatch) && size < maxBatchBytes; {
		e := w.events[(w.first+len(w.batch))%len(w.events)]
		w.batch = append(w.batch, e)
		size += e.weight()
	}
	w.mu.Unlock()
	if w.shown, w.text = w.shown[:0], w.text[:0]; cap(w.text) > 2*maxBatchBytes {
		w.text = nil // of a large message
	}
	for i, e := range w.batch {
		w.shown = append(w.shown, *e) // others see it, too
		w.batch[i] = nil
	}
	also := w.also.Load()
	for i := range w.shown {
		e := &w.shown[i]
		message := e.Message
		if also != nil && len(message) > 0 {
			e.Message = (*also)(e)
		}
		switch same := isSame(message, e.Message); {
		case same && e.Shared:
			e.hideWords()
			w.hideShared(e)
		case same && e.asIs:
			e.hideWords()
		default:
			e.Shared = false
			w.text = e.hide(w.text)
		}
		w.batch[i] = e
	}
}

// A shared message is one that many events have, and what is shown of it.
type shared struct{ message, shown []byte }

// hideShared hides of a message what may not be shown, the first time.
func (w *watcher) hideShared(e *Event) {
	for i := range w.shared {
		if one := &w.shared[i]; isSame(one.message, e.Message) {
			e.Message = one.shown
			return
		}
	}
	one := shared{message: e.Message}
	e.hideMessage(nil)
	one.shown = e.Message
	if len(w.shared) < maxShared {
		w.shared = append(w.shared, one)
		return
	}
	w.shared[w.oldest] = one
	w.oldest = (w.oldest + 1) % maxShared
}

// isSame reports whether two texts are the same bytes in memory.
func isSame(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// release forgets the messages of the batch, which were shown.
func (w *watcher) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range w.batch {
		if e := w.events[w.first]; e.Kind != Dropped {
			w.bytes -= e.weight()
		}
		w.events[w.first] = nil
		w.first = (w.first + 1) % len(w.events)
		w.count--
	}
	clear(w.shown)
	if w.count+w.missed > 0 {
		signal(w.ready)
	}
	if w.count == 0 {
		clear(w.slab[:w.used])
		w.used, w.texts = 0, w.texts[:0]
	}
}
