// Package changes records the changes of a server and notifies listeners of them.
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

// MarkKey is the member of _meta with a mark: the position in a server's sequence of changes up to
// which the receiver was notified. Only the [Feed] that made a mark can interpret it.
const MarkKey = "io.github.junction-mcp/changes"

const (
	maxRemembered = 1_024   // lists and resources whose last change a Feed remembers
	maxPending    = 1_024   // pending changes that [Listener.Add] added to one Listener
	maxURI        = 8 << 10 // bytes of the URI of a change that [Listener.Add] adds

	maxMessages     = 256     // pending notifications that [Listener.Pass] added to one Listener
	maxMessageBytes = 1 << 20 // bytes of the parameters of these notifications

	maxQuick  = 16                    // notifications of list changes in quick succession that are sent without a pause
	listPause = 10 * time.Millisecond // pause between further such notifications
)

// A Change is the content of a notification: its method and, in notifications/resources/updated,
// the URI of the resource.
type Change struct {
	Method string
	URI    string
}

// A Feed numbers the changes of one server and passes them to Listeners. Its methods never wait for
// a Listener. A Feed is safe for concurrent use.
type Feed struct {
	epoch string // distinguishes the marks of this Feed from the marks of other Feeds

	mu        sync.Mutex
	count     uint64            // number of changes so far
	last      map[Change]uint64 // number of the last occurrence of each change
	forgotten uint64            // changes with numbers up to this one may be missing in last
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

// Mark returns the mark after all changes so far.
func (f *Feed) Mark() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark(f.count)
}

func (f *Feed) mark(count uint64) string {
	return f.epoch + "." + strconv.FormatUint(count, 10)
}

// known returns the number of changes that a mark covers. own is false if another Feed made the
// mark.
func (f *Feed) known(mark string) (count uint64, own bool) {
	epoch, number, _ := strings.Cut(mark, ".")
	count, err := strconv.ParseUint(number, 10, 64)
	if epoch != f.epoch || err != nil {
		return 0, false
	}
	return count, true
}

// A Listener collects the changes that one client wants. Equal changes count as one until the
// Listener takes them.
type Listener struct {
	feed   *Feed
	wanted []Change
	wake   chan struct{} // capacity 1; contains a value while changes or messages are pending

	// The feed's mu guards these fields.
	mark    string // covers all changes that were taken
	pending []Change
	queued  map[Change]struct{} // the elements of pending

	messages []message
	bytes    int // size of the parameters of messages
}

// A message is a notification that is not a change, such as a log message.
type message struct {
	method string
	params json.RawMessage
}

// Listen returns a Listener for the wanted changes. The caller must close it. Changes since a mark
// are pending at once: none for an empty mark, and all wanted changes for the mark of another Feed.
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

// add adds a pending change. The caller holds the feed's mu.
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

// Pass adds a notification that is not a change. It has no mark and is not repeated after an
// interruption. If too many notifications are pending, Pass drops it. The caller must not change
// params afterwards.
func (l *Listener) Pass(method string, params json.RawMessage) {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if len(l.messages) < maxMessages && l.bytes+len(params) <= maxMessageBytes {
		l.messages, l.bytes = append(l.messages, message{method, params}), l.bytes+len(params)
		l.awake()
	}
}

// Add adds a pending change to this Listener only. It drops the change if too many changes are
// pending or if its URI is too long.
func (l *Listener) Add(c Change) {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if len(l.pending) < maxPending && len(c.URI) <= maxURI {
		l.add(c)
	}
}

// Mark returns the mark that covers all changes taken so far.
func (l *Listener) Mark() string {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	return l.mark
}

// Close removes the Listener from its Feed.
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

// Forward passes the pending messages and then the pending changes to notify, until ctx is done or
// notify returns an error. Each change carries the mark of all changes passed so far. If lists
// change many times in quick succession, Forward pauses between the notifications, which merges
// repeated changes.
func (l *Listener) Forward(ctx context.Context, notify func(ctx context.Context, method string, params json.RawMessage) error) error {
	var last time.Time // time of the last notification of a list change, or end of the pause after it
	quick := 0         // number of such notifications since the last pause
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

// take returns and clears the pending changes. before and after are the marks before and after
// these changes.
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

// WriteMark writes the _meta of the object in w, with a mark.
func WriteMark(w *jsonrpc.Writer, mark string) {
	w.Object("_meta")
	w.String(MarkKey, mark)
	w.End()
}
