package upstream

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

// Limits of what waits for the owner of a call or of a listen request.
const (
	maxEvents     = 1_024   // notifications and requests
	maxEventBytes = 4 << 20 // of them

	maxAllEventBytes = 16 << 20 // of the notifications of all calls and listen requests of one caller of a connection
	freeEventBytes   = 1 << 10  // of one call or listen request, which do not count there
)

// sizeOf is how many bytes a message keeps: all that came, whatever of it is of use.
func sizeOf(m *jsonrpc.Message) int { return max(len(m.Raw()), len(m.Params), len(m.Result)) }

// An event is something that happened to a call or a listen request.
type event struct {
	kind eventKind

	// response: what came back, or why nothing did.
	message *jsonrpc.Message // also that of a notification or a request
	err     error

	flight *inFlight // of a notification that no call owns: where it is counted; nil for others

	// answered: the client's response to a request of the server, and the round
	// that it was given in.
	request *serverRequest // also of requested and withdrawn
	askKey  string         // under which the client was asked
	result  json.RawMessage
	round   *round // also of attached
}

// over is called when the event was handled.
func (e *event) over() {
	if e.flight != nil {
		e.flight.over()
	}
}

type eventKind uint8

const (
	response     eventKind = iota // the call is over
	notification                  // for the client
	requested                     // the server asks the client something
	withdrawn                     // it takes that back
	answered                      // the client has responded, or cannot in this round
	attached                      // a round of the client's request begins
)

// A mailbox holds the events that wait for their owner, in order. Everybody may
// put, one goroutine takes.
type mailbox struct {
	ready chan struct{} // holds a token while events wait

	mu      sync.Mutex
	first   func() // see begin; nil when it was called
	events  []event
	all     *share.Budget // bytes of the notifications in all mailboxes of the connection; nil: not counted
	by      string        // in whose share of them these are
	counted int           // of them, those in this one
	bytes   int           // of the notifications and requests in events, as sizeOf counts
	count   int           // notifications and requests in events
	closed  bool
}

func newMailbox() mailbox { return mailbox{ready: make(chan struct{}, 1)} }

// begin has f called with the first event, at once where one waits already.
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

// put adds an event; false if the owner takes no more, or no more requests. A
// notification is dropped where too many wait: a client that slow has no use for
// them.
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

// putOnce is put for a notification that says no more than that something
// changed: it is not needed twice.
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

// take returns what waits.
func (b *mailbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events, b.count, b.bytes = nil, 0, 0
	b.forget()
	return events
}

// stop refuses further events, wakes whoever takes them, and reports whether there
// were any.
func (b *mailbox) stop() (any bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
	return b.first == nil
}

// stopped reports whether no event will follow those that wait.
func (b *mailbox) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// forget subtracts this mailbox's notifications from the connection's.
func (b *mailbox) forget() {
	if b.counted > 0 {
		b.all.GiveN(b.by, b.counted)
		b.counted = 0
	}
}

// close refuses further events and returns what still waits.
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
