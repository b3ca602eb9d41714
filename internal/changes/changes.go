// Package changes records the changes of a server and notifies listeners.
package changes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// MarkKey is the member of _meta that holds a mark: the number of a server's changes that the
// receiver has seen. It is opaque to others.
const MarkKey = "io.github.junction-mcp/changes"

const (
	maxRemembered = 1_024   // lists and resources whose last change a Feed stores
	maxPending    = 1_024   // pending changes of a Listener that [Listener.Add] added
	maxURI        = 8 << 10 // bytes of the URI of one of them

	maxMessages     = 256     // pending notifications of a Listener that [Listener.Pass] added
	maxMessageBytes = 1 << 20 // bytes of their parameters

	maxQuick  = 16                    // notifications of lists in quick succession before they are paced
	listPause = 10 * time.Millisecond // between the following ones
)

// A Change is the content of one notification: Method is its name, and URI the resource of
// notifications/resources/updated.
type Change struct {
	Method string
	URI    string
}

// A Feed numbers the changes of one server and passes them on to listeners. Adding a change never
// waits for a listener. It is safe for concurrent use.
type Feed struct {
	epoch string // distinguishes the marks of this Feed from those of another

	mu        sync.Mutex
	count     uint64            // of changes so far
	last      map[Change]uint64 // number of the last change of each
	forgotten uint64            // up to this number, changes that are not in last are possible too
	listeners map[Change]map[*Listener]struct{}
}

// NewFeed returns a Feed without changes.
func NewFeed() *Feed {
	return &Feed{epoch: rand.Text()[:8], last: map[Change]uint64{}, listeners: map[Change]map[*Listener]struct{}{}}
}

// Add records a change.
func (f *Feed) Add(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) >= maxRemembered {
		clear(f.last)
		f.forgotten = f.count
	}
	f.count++
	f.last[c] = f.count
	for l := range f.listeners[c] {
		l.add(c)
	}
}

// Mark returns the mark for all changes so far.
func (f *Feed) Mark() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark(f.count)
}

func (f *Feed) mark(count uint64) string {
	return f.epoch + "." + strconv.FormatUint(count, 10)
}

// known returns the number of changes of a mark. own is false for the mark of another Feed.
func (f *Feed) known(mark string) (count uint64, own bool) {
	epoch, number, _ := strings.Cut(mark, ".")
	count, err := strconv.ParseUint(number, 10, 64)
	if epoch != f.epoch || err != nil {
		return 0, false
	}
	return count, true
}

// A Listener collects the changes that one client wants. Repeated changes of one subject count as
// one until they are taken.
type Listener struct {
	feed   *Feed
	wanted []Change
	wake   chan struct{} // a token while changes or messages are pending

	// The feed's lock guards these.
	mark    string // all changes up to here were taken
	pending []Change
	queued  map[Change]struct{} // the same as a set

	messages []message
	bytes    int // of their parameters
}

// A message is a notification that is not a change, such as one of a log.
type message struct {
	method string
	params json.RawMessage
}

// Listen returns a Listener for the wanted changes, which must be closed. Changes since a mark are
// pending at once. The mark of another Feed counts as none, and an empty one as all.
func (f *Feed) Listen(wanted []Change, since string) *Listener {
	l := &Listener{feed: f, wanted: wanted, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range wanted {
		if f.listeners[c] == nil {
			f.listeners[c] = map[*Listener]struct{}{}
		}
		f.listeners[c][l] = struct{}{}
	}
	if since != "" {
		count, own := f.known(since)
		for _, c := range l.wanted {
			last, remembered := f.last[c]
			if !own || last > count || !remembered && f.forgotten > count {
				l.add(c)
			}
		}
	}
	if l.mark = since; l.pending == nil {
		l.mark = f.mark(f.count)
	}
	return l
}

// add adds a pending change. The caller holds the feed's lock.
func (l *Listener) add(c Change) {
	if _, queued := l.queued[c]; queued {
		return
	}
	if l.queued == nil {
		l.queued = map[Change]struct{}{}
	}
	l.queued[c] = struct{}{}
	l.pending = append(l.pending, c)
	l.awake()
}

func (l *Listener) awake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Pass passes on a notification that is not a change: it has no mark and is not repeated. It is
// dropped if too many wait. params must not change afterwards.
func (l *Listener) Pass(method string, params json.RawMessage) {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if len(l.messages) < maxMessages && l.bytes+len(params) <= maxMessageBytes {
		l.messages, l.bytes = append(l.messages, message{method, params}), l.bytes+len(params)
		l.awake()
	}
}

// Add adds a pending change for this Listener only. It is dropped if too many are pending or its
// URI is too long.
func (l *Listener) Add(c Change) {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if len(l.pending) < maxPending && len(c.URI) <= maxURI {
		l.add(c)
	}
}

// Mark returns the mark up to which all changes were taken.
func (l *Listener) Mark() string {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	return l.mark
}

// Close ends the Listener.
func (l *Listener) Close() {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	for _, c := range l.wanted {
		delete(l.feed.listeners[c], l)
		if len(l.feed.listeners[c]) == 0 {
			delete(l.feed.listeners, c)
		}
	}
}

// Forward passes messages and then changes to notify, each change with the mark up to which all
// changes were passed. It ends when ctx is done or notify fails. If lists change many times in
// quick succession it pauses between their notifications, so that further changes are joined.
func (l *Listener) Forward(ctx context.Context, notify func(ctx context.Context, method string, params json.RawMessage) error) error {
	var last time.Time // last notification of a list, or end of the pause after it
	quick := 0         // notifications of lists without a pause between
	for {
		select {
		case <-ctx.Done():
		case <-l.wake:
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, m := range l.takeMessages() {
			if err := notify(ctx, m.method, m.params); err != nil {
				return err
			}
		}
		pending, before, after := l.take()
		for i, c := range pending {
			mark := before
			if i == len(pending)-1 {
				mark = after
			}
			if err := notify(ctx, c.Method, params(c.URI, mark)); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(pending, func(c Change) bool { return c.URI == "" }) {
			continue
		}
		if time.Since(last) >= listPause {
			quick = 0
		}
		if quick++; quick > maxQuick {
			select {
			case <-ctx.Done():
			case <-time.After(listPause):
			}
		}
		last = time.Now()
	}
}

func (l *Listener) takeMessages() []message {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	taken := l.messages
	l.messages, l.bytes = nil, 0
	return taken
}

// take returns and clears the pending changes, with the marks before and after them.
func (l *Listener) take() (pending []Change, before, after string) {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	pending, before = l.pending, l.mark
	l.mark, l.pending, l.queued = l.feed.mark(l.feed.count), nil, nil
	return pending, before, l.mark
}

func params(uri, mark string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	if uri != "" {
		w.String("uri", uri)
	}
	WriteMark(&w, mark)
	return w.Bytes()
}

// WriteMark writes a mark as the _meta of the object in w.
func WriteMark(w *jsonrpc.Writer, mark string) {
	w.Object("_meta")
	w.String(MarkKey, mark)
	w.End()
}
