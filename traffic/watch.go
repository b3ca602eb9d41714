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

// The limits of a watcher's queue. At a limit the watcher misses messages.
const (
	maxWaiting      = 4_096    // messages
	maxWaitingBytes = 32 << 20 // bytes of all messages together
)

const (
	// watchPause delays each message, so that further messages are shown together with it. Waking a
	// watcher costs far more than showing a message.
	watchPause    = 20 * time.Millisecond
	maxBatch      = 256       // messages that are shown together
	maxBatchBytes = 256 << 10 // bytes of these together, unless one message is larger

	maxShared = 16 // shared messages whose redacted form is stored
)

// Queued strings are copied into reused buffers. A buffer has fewBytes at first and grows to
// manyBytes.
const (
	fewBytes  = 8 << 10
	manyBytes = 256 << 10
)

// Watch calls show for every message from now on, one after the other. When ctx ends, it shows the
// messages so far and returns the cause. It also returns an error of show. show owns the event.
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

// Join is like Watch, but in two steps. Messages are queued from the call of Join on. The caller
// must call watch once, which shows the queued messages in batches. The events are valid until show
// returns. If notes is false, no notes are shown, and none are made for this watcher.
func (l *Log) Join(notes bool) (watch func(ctx context.Context, show func([]*Event) error) error) {
	w := &watcher{notes: notes, also: &l.also, ready: make(chan struct{}, 1), full: make(chan struct{}, 1)}
	l.enter(w)
	return func(ctx context.Context, show func([]*Event) error) error {
		defer l.leave(w)
		return w.show(ctx, show)
	}
}

// See calls see for every complete message and note from now on until stop is called. It is for the
// owner of the connections. A [Failure] has the ID of its request. The goroutines that send and
// receive messages call see, so it must not block. An event is valid only during the call.
func (l *Log) See(see func(*Event)) (stop func()) {
	w := &watcher{notes: true, see: see}
	l.enter(w)
	return sync.OnceFunc(func() { l.leave(w) })
}

func (l *Log) enter(w *watcher) {
	l.change(func(all []*watcher) []*watcher { return append(all, w) })
	if w.notes { // before watching: a caller that finds the watcher must also see that it wants notes
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

// change replaces the list of watchers by the result of how.
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

// A watcher is a consumer of events.
type watcher struct {
	notes bool         // whether it wants notes
	see   func(*Event) // called for each event at once; nil if the watcher has a queue
	also  *atomic.Pointer[func(*Event) json.RawMessage]
	ready chan struct{} // signals that the queue is no longer empty
	full  chan struct{} // signals that the queue is long enough to end watchPause

	mu     sync.Mutex
	in     waiting // queued messages
	taken  int     // number of messages in out, which count toward the limits
	missed int     // number of missed messages since the last queued one

	out   waiting // messages that are being shown; mu guards its size
	batch []*Event
	text  []byte // buffer for the redacted messages of batch
	words wordsBefore

	shared []shared // redacted forms of shared messages
	oldest int      // index of the oldest element of shared, once it is full
}

// add queues an event, or passes it to see. It does not wait.
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

// drop queues an event with the number of missed messages. The caller holds mu.
func (w *watcher) drop(at time.Time) {
	w.in.events = append(w.in.events, Event{Time: at, Kind: Dropped, Count: w.missed})
	w.missed = 0
}

// A waiting is a queue of messages with the buffers that hold their strings.
type waiting struct {
	events []Event
	texts  []byte // buffer that receives the strings of the next messages
	size   int64
}

// add adds a deep copy of an event.
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

// show passes queued messages to show until ctx is done.
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

// take moves the queued messages to w.out. They count toward the limits until release.
func (w *watcher) take() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed > 0 && len(w.in.events) == 0 {
		w.drop(time.Now())
	}
	w.in, w.out = w.out, w.in
	w.taken = len(w.out.events)
}

// release removes the messages in w.out, which have been shown.
func (w *watcher) release() {
	clear(w.out.events)
	w.out.events, w.out.texts = w.out.events[:0], w.out.texts[:0]
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken, w.out.size = 0, 0; len(w.in.events)+w.missed > 0 {
		signal(w.ready)
	}
}

// prepare fills w.batch with the first of the events, and removes their secrets.
func (w *watcher) prepare(events []Event) {
	w.batch = w.batch[:0]
	for size := int64(0); len(w.batch) < min(len(events), maxBatch) && size < maxBatchBytes; {
		e := &events[len(w.batch)]
		w.batch = append(w.batch, e)
		size += e.weight()
	}
	if w.text = w.text[:0]; cap(w.text) > 2*maxBatchBytes {
		w.text = nil // a large message made the buffer too large
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

// A shared is a message of many events, with its redacted form.
type shared struct{ message, shown []byte }

// hideShared replaces the message of an event by its redacted form, which it stores for other
// events.
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

// isSame reports whether two slices are the same memory.
func isSame(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
