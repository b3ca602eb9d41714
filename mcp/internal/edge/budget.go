package edge

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

// Limits of the memory that one client can occupy, in bytes. All other limits are numbers of items,
// each of limited size.
const (
	maxDescription = 16 << 10 // clientInfo, and clientCapabilities
	maxURI         = 8 << 10  // URI of a resource that a client subscribes to
	maxSessionHeld = 1 << 20  // description and subscriptions of one session, or one listen
	freeHeld       = 512      // free bytes of each session and each listen; not counted

	maxSessionsHeld   = 16 << 20 // sessions and listens of one caller; the limit for all callers together is a third more
	maxConnectionHeld = 32 << 20 // messages in progress of one connection; each counts jobSize more
	maxMessagesHeld   = 64 << 20 // messages of one caller, without the first jobSize bytes of each; the limit for all callers together is a third more
	jobSize           = 4 << 10  // cost of responding to a small message
	maxBatchResponses = 16 << 20 // responses to one batch

	maxSubscriptions = 1_000 // resources that one session subscribes to
)

// A Budget limits the memory that clients can occupy, in bytes. Callers admit bytes before they
// keep them, and release them afterwards. A Budget may be part of a budget of all clients, which
// must also admit the bytes. It is safe for concurrent use.
type Budget struct {
	most   int
	whole  *share.Budget // the budget that this one is part of, or nil
	caller string        // the caller whose share of whole contains the bytes

	mu     sync.Mutex
	held   int
	closed bool
}

// NewBudget returns a budget of most bytes.
func NewBudget(most int) *Budget { return &Budget{most: most} }

// Admit takes n bytes from the budget. If fewer are left, or if the whole budget refuses them, it
// takes nothing and reports false. An unused budget admits any n, even one larger than its limit.
func (b *Budget) Admit(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.held > 0 && b.held+n > b.most {
		return false
	}
	if b.whole != nil && !b.whole.TakeN(b.caller, n) {
		return false
	}
	b.held += n
	return true
}

// Release returns n admitted bytes to the budget.
func (b *Budget) Release(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.held -= n
	if b.whole != nil {
		b.whole.GiveN(b.caller, n)
	}
}

// Close releases all admitted bytes. After Close, Admit reports false.
func (b *Budget) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.whole != nil && !b.closed {
		b.whole.GiveN(b.caller, b.held)
	}
	b.closed, b.held = true, 0
}

// Held returns the number of admitted bytes.
func (b *Budget) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// A Caller identifies a share of the limits that all clients have in common; see [share.Key].
type Caller interface{ Caller() string }

// AdmitMessage takes n bytes, the size of a message to handle, from the budget of all clients. The
// first jobSize bytes are free, as the number of requests is limited. So large messages of other
// clients never prevent a small one.
func (e *Edge) AdmitMessage(n int, by Caller) bool {
	return n <= jobSize || e.messages.TakeN(by.Caller(), n-jobSize)
}

// ReleaseMessage returns the bytes of a handled message, which [Edge.AdmitMessage] took.
func (e *Edge) ReleaseMessage(n int, by Caller) {
	if n > jobSize {
		e.messages.GiveN(by.Caller(), n-jobSize)
	}
}

// subscriptionSize is the number of bytes that a subscription costs in addition to its URI.
const subscriptionSize = 64

// admitResource takes the memory for one more subscription of the session, or returns the reason
// why it cannot. The caller holds the session's lock.
func (s *Session) admitResource(uri string) *jsonrpc.Error {
	switch {
	case len(uri) > maxURI:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: at most %d bytes, got %d", maxURI, len(uri))
	case len(s.resources) >= maxSubscriptions:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: at most %d subscriptions of one session; unsubscribe from another first", maxSubscriptions)
	case !s.held.Admit(len(uri) + subscriptionSize):
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: the subscriptions exceed the memory limit; unsubscribe from another first, or try again later")
	}
	return nil
}

// dropResource removes a subscription if the session has it. The caller holds the session's lock.
func (s *Session) dropResource(uri string) {
	if _, subscribed := s.resources[uri]; subscribed {
		delete(s.resources, uri)
		s.held.Release(len(uri) + subscriptionSize)
	}
}

// admitListen checks the parameters of a subscriptions/listen, and takes their memory for the
// duration of the request. Each resource costs subscriptionSize more, as every Handler stores some
// data for it. It returns the number of bytes taken.
func (e *Edge) admitListen(params json.RawMessage, caller string) (held int, fault *jsonrpc.Error) {
	uris := jsonrpc.Get(jsonrpc.Get(params, "notifications"), "resourceSubscriptions")
	size := len(params)
	jsonrpc.EachElement(uris, func(element []byte) bool {
		size += subscriptionSize
		if len(element) > maxURI {
			fault = jsonrpc.Errorf(jsonrpc.InvalidParams, "notifications: resourceSubscriptions: at most %d bytes of one URI, got %d", maxURI, len(element))
		}
		return fault == nil
	})
	held = max(0, size-freeHeld)
	switch {
	case fault != nil:
		return 0, fault
	case size > maxSessionHeld:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "subscriptions/listen: at most %d bytes of parameters, of which each resource counts %d more, got %d", maxSessionHeld, subscriptionSize, size)
	case !e.sessions.TakeN(caller, held):
		return 0, jsonrpc.Errorf(jsonrpc.InternalError, "the open subscriptions exceed the memory limit; try again later, or with fewer resources")
	}
	return held, nil
}

// Compact replaces the message of a listen, which lasts long, by a copy, so that the memory of the
// input can be freed. It returns the number of bytes that the message now occupies. The parameter
// size is the number before. Other messages are unchanged.
func Compact(m *jsonrpc.Message, size int) int {
	if m.Kind != jsonrpc.Request || m.Method != methodListen {
		return size
	}
	data := jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	*m, _ = Parse(data)
	return len(data)
}
