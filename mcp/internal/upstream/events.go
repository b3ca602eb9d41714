package upstream

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

// Limits of the events that wait for the owner of a call or a listen request.
const (
	maxEvents     = 1_024   // notifications and requests
	maxEventBytes = 4 << 20 // bytes of these

	maxAllEventBytes = 16 << 20 // bytes of one caller's notifications in all mailboxes of a connection
	freeEventBytes   = 1 << 10  // free bytes of each call or listen request; not counted there
)

// sizeOf returns the number of bytes that a message keeps in memory: all that were received, even
// unused ones.
func sizeOf(m *jsonrpc.Message) int { return max(len(m.Raw()), len(m.Params), len(m.Result)) }

// An event is a change of a call or a listen request.
type event struct {
	kind eventKind

	// Set in a response: its message or error.
	message *jsonrpc.Message // also set in notification and requested
	err     error

	flight *inFlight // counter of a notification that belongs to no call; otherwise nil

	// Set in answered: the client's response to a request of the server, and its round.
	request *serverRequest // also set in requested and withdrawn
	askKey  string         // key of the request to the client
	result  json.RawMessage
	round   *round // also set in attached
}

// over must be called after an event was handled.
func (e *event) over() {
	if e.flight != nil {
		e.flight.over()
	}
}

type eventKind uint8

const (
	response     eventKind = iota // end of the call
	notification                  // a notification for the client
	requested                     // a request of the server to the client
	withdrawn                     // the withdrawal of such a request
	answered                      // the client's response, or the error that it can give none in this round
	attached                      // the start of a round of the client's request
)

// A mailbox contains the events for their owner, in order. Any goroutine may put events into it;
// only one takes them.
type mailbox struct {
	ready chan struct{} // contains a value while events wait

	mu      sync.Mutex
	first   func() // see begin; nil after it was called
	events  []event
	all     *share.Budget // bytes of the notifications in all mailboxes of the connection; nil if not counted
	by      string        // the caller whose share of all contains them
	counted int           // bytes of this mailbox in all
	bytes   int           // sum of sizeOf over the notifications and requests in events
	count   int           // number of notifications and requests in events
	closed  bool
}

func newMailbox() mailbox { return mailbox{ready: make(chan struct{}, 1)} }

// begin makes the mailbox call f at its first event, which may be waiting already.
func (b *mailbox) begin(f func()) {
	b.mu.Lock()
	waiting := len(b.events) > 0
	if !waiting {
		b.first = f
	}
	b.mu.Unlock()
	if waiting {
		f()
	}
}

// put adds an event. It reports false if the mailbox is closed or contains too many requests. If
// too many notifications wait, put drops a notification, as the client is too slow to use it.
func (b *mailbox) put(e event) bool {
	b.mu.Lock()
	taken, first := b.add(e), b.first
	if taken {
		b.first = nil
	}
	b.mu.Unlock()
	if !taken {
		return false
	}
	if first != nil {
		first()
	}
	b.wake()
	return true
}

func (b *mailbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *mailbox) add(e event) bool {
	if b.closed {
		return false
	}
	if e.kind == notification || e.kind == requested {
		size := sizeOf(e.message)
		if b.count >= maxEvents || b.count > 0 && b.bytes+size > maxEventBytes {
			return e.kind == notification
		}
		if e.kind == notification && b.all != nil && b.bytes+size > freeEventBytes {
			if !b.all.TakeN(b.by, size) {
				return true
			}
			b.counted += size
		}
		b.count++
		b.bytes += size
	}
	if e.flight != nil {
		e.flight.begin()
	}
	b.events = append(b.events, e)
	return true
}

// putOnce is like put, for a notification that only reports a change. It adds no second copy of a
// waiting notification.
func (b *mailbox) putOnce(e event) bool {
	b.mu.Lock()
	for i := range b.events {
		if m := b.events[i].message; b.events[i].kind == notification && m.Method == e.message.Method && string(m.Params) == string(e.message.Params) {
			b.mu.Unlock()
			return true
		}
	}
	b.mu.Unlock()
	return b.put(e)
}

// take removes and returns the waiting events.
func (b *mailbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events, b.count, b.bytes = nil, 0, 0
	b.forget()
	return events
}

// stop refuses further events and wakes the owner. It reports whether the mailbox ever had an
// event.
func (b *mailbox) stop() (any bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
	return b.first == nil
}

// stopped reports whether the mailbox accepts no further events.
func (b *mailbox) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// forget subtracts the bytes of this mailbox's notifications from the bytes of all notifications of
// the connection.
func (b *mailbox) forget() {
	if b.counted > 0 {
		b.all.GiveN(b.by, b.counted)
		b.counted = 0
	}
}

// close refuses further events and returns the waiting ones.
func (b *mailbox) close() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	events := b.events
	for i := range events {
		events[i].over()
	}
	b.events = nil
	b.forget()
	return events
}
