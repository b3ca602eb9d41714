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
	maxQueuedBytes = 32 << 20         // bytes of these messages; one message may always wait
	maxBatch       = 1_024            // messages in one batch
	stallTime      = 10 * time.Second // how long a server's request waits for room in the queue
	strayTime      = time.Minute      // how long after a call was given up a response without an id may belong to it
)

// An Inbox sorts the messages of one server. It passes responses to their calls. Other messages
// wait in a limited queue for [Inbox.Receive]. All methods are safe for concurrent use.
type Inbox struct {
	name    string
	log     *slog.Logger
	skipped skipped
	done    chan struct{}

	mu    sync.Mutex
	err   error // why the Inbox is done, without the server's name
	calls map[jsonrpc.ID]*Call
	queue queue
	busy  bool          // set while a Receive runs: responses wait for the messages before them
	more  chan struct{} // signalled when the queue is no longer empty
	room  chan struct{} // signalled when the queue is no longer full

	givenUp time.Time // when a call was last given up
}

// NewInbox returns an Inbox. The parameter name is the server's name in errors.
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

// NameSkipped sets a function that is called for skipped input, in place of the log record about a
// line of standard output. It must be called before [Inbox.Take].
func (b *Inbox) NameSkipped(named func()) { b.skipped.named = named }

// Done returns a channel that is closed when no more messages can arrive.
func (b *Inbox) Done() <-chan struct{} { return b.done }

// Err returns the reason why the Inbox is done, or nil.
func (b *Inbox) Err() error {
	if cause := b.cause(); cause != nil {
		return fmt.Errorf("%s: %w", b.name, cause)
	}
	return nil
}

// cause is like Err, without the server's name.
func (b *Inbox) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Fail ends the Inbox: waiting and later calls fail with cause. Receive still gets the queued
// messages. Later calls of Fail have no effect.
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

// Closed is like [Inbox.Fail], for a connection that this side closed.
func (b *Inbox) Closed() { b.Fail(mcp.ErrClosed) }

// Take sorts one message or one batch of the server. If there is no room for a request of the
// server, Take waits for at most 10 seconds and then ends the Inbox. The caller must not change
// data afterwards.
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
		b.takeOdd(bytes.Clone(element), odd) // copied, so that it does not keep the others in memory
	}
}

// takeOdd sorts one message. The parameter odd lists the repairs of the batch that contains it.
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

// accept sorts a parsed message of size bytes.
func (b *Inbox) accept(m *jsonrpc.Message, size int) {
	if !b.skipped.sent.Load() {
		b.skipped.sent.Store(true)
	}
	if m.Kind == jsonrpc.Response {
		b.deliver(m)
		return
	}
	b.put(m, size)
}

// refuse skips input that is not a message. If the input is an invalid response, its call fails.
func (b *Inbox) refuse(data []byte, id jsonrpc.ID, fault *jsonrpc.Error) {
	if !id.IsZero() && LooksLikeResponse(data) {
		if c := b.pick(id); c != nil {
			c.done <- response{err: fmt.Errorf("the response to %s is not valid: %w", c.method, fault)}
			return
		}
	}
	b.skipped.add(data, fault)
}

// Lost reports a message that could not be read. If only one call waits, the message was its
// response, so that call fails.
func (b *Inbox) Lost(err error) {
	if c := b.pick(""); c != nil {
		c.done <- response{err: fmt.Errorf("the response to %s cannot be read: %w", c.method, err)}
		return
	}
	b.log.Warn("mcp: a message from the server cannot be read", "server", b.name, "error", err)
}

// Receive passes the messages that belong to no call to deliver, in order. It returns when ctx is
// done, or when the Inbox is done and empty. It calls begun once responses can no longer overtake
// earlier messages.
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

// stop passes the responses on that still waited behind other messages.
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

// complete passes a response to its call. While a Receive runs, the response first waits for the
// server's earlier messages.
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

// put queues a message of the server. If there is no room, it drops the oldest notification. For a
// request, it waits.
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
			b.log.Debug("mcp: a notification was dropped: the receiver is slow", "server", b.name, "queued", maxQueued)
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

// An offered is the outcome of offering a message to the queue.
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
		return taken // and dropped, as the link is closed
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

// signal sends a value to a channel of capacity 1, unless the channel is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
