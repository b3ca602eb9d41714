package pipe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Limits and times of an Inbox.
const (
	maxQueued      = 1_024            // messages that wait for Receive
	maxQueuedBytes = 32 << 20         // the same in bytes; one message may always wait
	maxBatch       = 1_024            // messages in one batch
	stallTime      = 10 * time.Second // how long a request of the server waits for room in the queue
	strayTime      = time.Minute      // how long a response without an id may be for a call that was given up
)

// An Inbox sorts what one server sends: responses go to the calls that wait for
// them, everything else waits in a bounded queue for [Inbox.Receive]. All
// methods are safe for concurrent use.
type Inbox struct {
	name    string
	log     *slog.Logger
	skipped skipped
	done    chan struct{}

	mu    sync.Mutex
	err   error // why it is done, without the server's name
	calls map[jsonrpc.ID]*Call
	queue queue
	busy  bool          // a Receive runs: responses wait their turn behind its messages
	more  chan struct{} // signalled when the queue is no longer empty
	room  chan struct{} // signalled when it is no longer full

	givenUp time.Time // when a call was, last
}

// NewInbox returns an Inbox for the server that errors call name.
func NewInbox(name string, log *slog.Logger) *Inbox {
	log = cmp.Or(log, slog.Default())
	return &Inbox{
		name:    name,
		log:     log,
		skipped: skipped{log: log, name: name},
		done:    make(chan struct{}),
		calls:   make(map[jsonrpc.ID]*Call),
		more:    make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
	}
}

// NameSkipped has named called for everything that is skipped as it is not a message, in place of a record about a line
// of standard output. It must be called before [Inbox.Take].
func (b *Inbox) NameSkipped(named func()) { b.skipped.named = named }

// Done is closed when nothing will arrive any more.
func (b *Inbox) Done() <-chan struct{} { return b.done }

// Err says why the Inbox is done, and nil before it is.
func (b *Inbox) Err() error {
	if cause := b.cause(); cause != nil {
		return fmt.Errorf("%s: %w", b.name, cause)
	}
	return nil
}

// cause is Err without the server's name.
func (b *Inbox) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Fail ends the Inbox: calls that wait, and those that come, fail with cause.
// Receive still gets what is in the queue. Only the first Fail counts.
func (b *Inbox) Fail(cause error) {
	b.mu.Lock()
	if b.err != nil {
		b.mu.Unlock()
		return
	}
	b.err = cause
	calls := slices.Collect(maps.Values(b.calls))
	clear(b.calls)
	b.mu.Unlock()
	for _, c := range calls {
		c.done <- response{err: c.failure(cause)}
	}
	close(b.done)
}

// Closed is [Inbox.Fail] for an end that came from this side.
func (b *Inbox) Closed() { b.Fail(mcp.ErrClosed) }

// Take sorts one message or one batch as it came from the server. It waits while
// a request of the server finds no room, for at most 10 seconds, after which the
// Inbox is done. data must not be changed any more.
func (b *Inbox) Take(data []byte) {
	if !jsonrpc.IsBatch(data) {
		b.takeOdd(data, 0)
		return
	}
	elements, odd, fault := SplitBatch(data, maxBatch)
	if fault != nil {
		b.skipped.add(data, fault)
		return
	}
	for _, element := range elements {
		b.takeOdd(bytes.Clone(element), odd) // one that waits keeps nothing of the others
	}
}

// takeOdd takes one message; odd has how the text of its batch was mended.
func (b *Inbox) takeOdd(data []byte, odd jsonrpc.Odd) {
	m := new(jsonrpc.Message)
	var fault *jsonrpc.Error
	if *m, fault = Parse(data); fault != nil {
		b.refuse(data, m.ID, fault)
		return
	}
	m.Odd |= odd
	b.accept(m, len(data))
}

// accept sorts a message of so many bytes.
func (b *Inbox) accept(m *jsonrpc.Message, size int) {
	if m.Kind == jsonrpc.Response {
		b.deliver(m)
		return
	}
	b.put(m, size)
}

// refuse skips what is no message, unless it is a response that came out wrong:
// then the call need not wait any longer.
func (b *Inbox) refuse(data []byte, id jsonrpc.ID, fault *jsonrpc.Error) {
	if !id.IsZero() && LooksLikeResponse(data) {
		if c := b.pick(id); c != nil {
			c.done <- response{err: fmt.Errorf("the response to %s is not valid: %w", c.method, fault)}
			return
		}
	}
	b.skipped.add(data, fault)
}

// Lost reports a message that could not be read. If one call waits, it was the
// response.
func (b *Inbox) Lost(err error) {
	if c := b.pick(""); c != nil {
		c.done <- response{err: fmt.Errorf("the response to %s cannot be read: %w", c.method, err)}
		return
	}
	b.log.Warn("mcp: a message of the server cannot be read", "server", b.name, "error", err)
}

// Receive hands what belongs to no call to deliver, in the order in which it
// came, until ctx is done or the Inbox is done and empty. It calls begun when no
// response can overtake what came before it any more.
func (b *Inbox) Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error {
	b.begin()
	defer b.stop()
	begun()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w, ok := b.next(); ok {
			if w.call != nil {
				w.call.hand(w.message)
			} else {
				deliver(w.message)
			}
			continue
		}
		select {
		case <-b.more:
		case <-ctx.Done():
		case <-b.done:
			if b.empty() {
				return b.Err()
			}
		}
	}
}

func (b *Inbox) next() (queued, bool) {
	b.mu.Lock()
	w, ok := b.queue.pop()
	b.mu.Unlock()
	if ok {
		signal(b.room)
	}
	return w, ok
}

func (b *Inbox) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = true
}

// stop hands out the responses that were still behind other messages.
func (b *Inbox) stop() {
	b.mu.Lock()
	b.busy = false
	var responses []queued
	b.queue.waiting = slices.DeleteFunc(b.queue.waiting, func(w queued) bool {
		if w.call != nil {
			responses = append(responses, w)
		}
		return w.call != nil
	})
	b.mu.Unlock()
	for _, w := range responses {
		w.call.hand(w.message)
	}
}

// complete hands a response to its call, in turn with what the server sent
// before it, as long as somebody takes that.
func (b *Inbox) complete(c *Call, m *jsonrpc.Message) {
	b.mu.Lock()
	busy := b.busy
	if busy {
		b.queue.push(queued{message: m, call: c})
	}
	b.mu.Unlock()
	if busy {
		signal(b.more)
	} else {
		c.hand(m)
	}
}

func (b *Inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.len() == 0
}

// put queues a message of the server's own. Where there is no room the oldest
// notification gives way; a request waits for some.
func (b *Inbox) put(m *jsonrpc.Message, size int) {
	var stalled *time.Timer
	for {
		outcome := b.offer(m, size)
		if outcome != refused {
			signal(b.more)
		}
		switch outcome {
		case taken:
			return
		case dropped:
			b.log.Debug("mcp: a notification was dropped: nobody takes them", "server", b.name, "queued", maxQueued)
			return
		}
		if stalled == nil {
			stalled = time.NewTimer(stallTime)
			defer stalled.Stop()
		}
		select {
		case <-b.room:
		case <-b.done:
			return
		case <-stalled.C:
			b.Fail(fmt.Errorf("the queue of its messages stayed full for %v", stallTime))
			return
		}
	}
}

// What became of a message.
type offered int

const (
	taken offered = iota
	dropped
	refused
)

func (b *Inbox) offer(m *jsonrpc.Message, size int) offered {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return taken // by nobody: the link is closed
	}
	outcome := taken
	for !b.queue.fits(size) {
		if !b.queue.dropNotification() {
			if m.Kind == jsonrpc.Notification {
				return dropped
			}
			return refused
		}
		outcome = dropped
	}
	b.queue.push(queued{message: m, size: size})
	return outcome
}

// signal puts a value into a channel with room for one, if it is empty.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
