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

// What waits is copied into buffers, which are used again. Those for texts grow from the first of these sizes to the second.
const (
	fewBytes  = 8 << 10
	manyBytes = 256 << 10
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
	w := &watcher{notes: notes, also: &l.also, ready: make(chan struct{}, 1), full: make(chan struct{}, 1)}
	l.enter(w)
	return func(ctx context.Context, show func([]*Event) error) error {
		defer l.leave(w)
		return w.show(ctx, show)
	}
}

// See calls see with every message and every note from now on until stop is called: whole, as it went over the wire, for those whose
// connections these are. A [Failure] has the ID of its request. The goroutines that carry the messages call it, so that it must
// not wait; an event is valid only during the call.
func (l *Log) See(see func(*Event)) (stop func()) {
	w := &watcher{notes: true, see: see}
	l.enter(w)
	return sync.OnceFunc(func() { l.leave(w) })
}

func (l *Log) enter(w *watcher) {
	l.change(func(all []*watcher) []*watcher { return append(all, w) })
	if w.notes { // first: whoever finds that somebody watches finds also whether notes are wanted
		l.noting.Add(1)
	}
	l.watching.Add(1)
}

func (l *Log) leave(w *watcher) {
	l.watching.Add(-1)
	if w.notes {
		l.noting.Add(-1)
	}
	l.change(func(all []*watcher) []*watcher {
		return slices.DeleteFunc(all, func(one *watcher) bool { return one == w })
	})
}

// change changes who watches.
func (l *Log) change(how func([]*watcher) []*watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*watcher
	if now := l.watchers.Load(); now != nil {
		all = slices.Clone(*now)
	}
	all = how(all)
	l.watchers.Store(&all)
}

// A watcher is one who watches.
type watcher struct {
	notes bool         // are shown, too
	see   func(*Event) // gets each event at once; nil: they wait
	also  *atomic.Pointer[func(*Event) json.RawMessage]
	ready chan struct{} // there is a first message
	full  chan struct{} // there are so many that the pause ends

	mu     sync.Mutex
	in     waiting // what came since the others were taken
	taken  int     // messages that are being shown; they count, too
	missed int     // since the newest one

	out   waiting // being shown; its size is mu's
	batch []*Event
	text  []byte // what some of their messages are in
	words wordsBefore

	shared []shared // the messages that many events have
	oldest int      // of shared, when it is full
}

// add gives a message to one who watches, and waits for nothing.
func (w *watcher) add(e *Event) {
	if e.Kind == Note && !w.notes {
		return
	}
	if w.see != nil {
		one := *e
		if one.readMessage(); one.Kind == Failure && one.of != nil {
			one.ID = json.RawMessage(one.of.id)
		}
		w.see(&one)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	places, size := 1, e.weight()
	if w.missed > 0 {
		places = 2
	}
	if len(w.in.events)+w.taken+places > maxWaiting || w.in.size+w.out.size+size > maxWaitingBytes {
		w.missed++
		return
	}
	if w.missed > 0 {
		w.drop(e.Time)
	}
	w.in.add(e)
	w.in.size += size
	if len(w.in.events) == places {
		signal(w.ready)
	}
	if len(w.in.events) > maxWaiting/2 || w.in.size > maxWaitingBytes/2 {
		signal(w.full)
	}
}

// drop says how many messages were missed; mu is held.
func (w *watcher) drop(at time.Time) {
	w.in.events = append(w.in.events, Event{Time: at, Kind: Dropped, Count: w.missed})
	w.missed = 0
}

// A waiting is messages that wait, in buffers of their own.
type waiting struct {
	events []Event
	texts  []byte // behind what is in it are the next messages
	size   int64
}

// add adds a copy of an event that has nothing of it.
func (w *waiting) add(e *Event) {
	w.events = append(w.events, *e)
	kept := &w.events[len(w.events)-1]
	if kept.ID = w.copied(e.ID); !e.Shared {
		kept.Message = w.copied(e.Message)
	}
}

func (w *waiting) copied(text []byte) []byte {
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
		w.take()
		for rest := w.out.events; len(rest) > 0; rest = rest[len(w.batch):] {
			w.prepare(rest)
			if err := show(w.batch); err != nil {
				return err
			}
		}
		w.release()
		if ends {
			return context.Cause(ctx)
		}
	}
}

// take takes what waits, which counts until it is released.
func (w *watcher) take() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed > 0 && len(w.in.events) == 0 {
		w.drop(time.Now())
	}
	w.in, w.out = w.out, w.in
	w.taken = len(w.out.events)
}

// release forgets the messages that were taken and shown.
func (w *watcher) release() {
	clear(w.out.events)
	w.out.events, w.out.texts = w.out.events[:0], w.out.texts[:0]
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken, w.out.size = 0, 0; len(w.in.events)+w.missed > 0 {
		signal(w.ready)
	}
}

// prepare makes a batch of the first of these messages, without what may not be shown.
func (w *watcher) prepare(events []Event) {
	w.batch = w.batch[:0]
	for size := int64(0); len(w.batch) < min(len(events), maxBatch) && size < maxBatchBytes; {
		e := &events[len(w.batch)]
		w.batch = append(w.batch, e)
		size += e.weight()
	}
	if w.text = w.text[:0]; cap(w.text) > 2*maxBatchBytes {
		w.text = nil // of a large message
	}
	also := w.also.Load()
	for _, e := range w.batch {
		e.readMessage()
		message := e.Message
		if also != nil && len(message) > 0 {
			e.Message = (*also)(e)
		}
		switch same := isSame(message, e.Message); {
		case same && e.Shared:
			e.hideWords(&w.words)
			w.hideShared(e)
		case same && e.asIs:
			e.hideWords(&w.words)
		default:
			e.Shared = false
			w.text = e.hide(w.text, &w.words)
		}
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
