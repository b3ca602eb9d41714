package edge

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
)

// What one client can make this side hold, in bytes. Other limits count things
// of a bounded size.
const (
	maxDescription = 16 << 10 // of clientInfo, and of clientCapabilities
	maxURI         = 8 << 10  // of a resource that a client subscribes to
	maxSessionHeld = 1 << 20  // of what one session, or one listen, keeps: description and subscriptions
	freeHeld       = 512      // the first bytes of that, which every session has and which are not counted

	maxSessionsHeld   = 16 << 20 // of what all sessions and listens of one caller keep; those of all others, a third more
	maxConnectionHeld = 32 << 20 // of one connection's messages that are being answered; each counts jobSize more
	maxMessagesHeld   = 64 << 20 // of one caller's messages that are being answered, without the first jobSize of each; all others', a third more
	jobSize           = 4 << 10  // what answering a small message costs
	maxBatchResponses = 16 << 20 // of the responses to one batch

	maxSubscriptions = 1_000 // resources one session subscribes to
)

// A Budget limits the bytes that clients can make this side hold. What is kept
// is admitted first and released when it is dropped. A Budget may be part of
// one of all clients, which then has to admit the same. It is safe for concurrent use.
type Budget struct {
	most   int
	whole  *share.Budget // of which this is a part, or nil
	caller string        // in whose share of it

	mu     sync.Mutex
	held   int
	closed bool
}

// NewBudget returns a budget of so many bytes.
func NewBudget(most int) *Budget { return &Budget{most: most} }

// Admit takes n bytes from the budget. It reports false, and takes nothing,
// where that is more than is left. What is larger than a whole budget is
// admitted while nothing else is.
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

// Release gives n admitted bytes back.
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

// Close gives back everything that is admitted, and admits nothing more.
func (b *Budget) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.whole != nil && !b.closed {
		b.whole.GiveN(b.caller, b.held)
	}
	b.closed, b.held = true, 0
}

// Held is how many bytes are admitted at present.
func (b *Budget) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// A Caller is in whose share something is; see [share.Key].
type Caller interface{ Caller() string }

// AdmitMessage takes a message of n bytes, which is about to be answered, from
// what all clients may have. A small one is free, as the number of requests is
// limited: large ones of others do not keep it out.
func (e *Edge) AdmitMessage(n int, by Caller) bool {
	return n <= jobSize || e.messages.TakeN(by.Caller(), n-jobSize)
}

// ReleaseMessage gives a message of n bytes back when it was answered.
func (e *Edge) ReleaseMessage(n int, by Caller) {
	if n > jobSize {
		e.messages.GiveN(by.Caller(), n-jobSize)
	}
}

// subscriptionSize is what a subscription counts for in addition to its URI.
const subscriptionSize = 64

// admitResource checks whether the session may subscribe to one more resource.
// The session's lock is held.
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

// dropResource ends a subscription, if there is one. The session's lock is held.
func (s *Session) dropResource(uri string) {
	if _, subscribed := s.resources[uri]; subscribed {
		delete(s.resources, uri)
		s.held.Release(len(uri) + subscriptionSize)
	}
}

// admitListen checks the parameters of a subscriptions/listen and takes what
// stays of it as long as it lasts: they, and something for each of its resources, whoever
// serves it. It returns how much that is.
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

// Compact lets a listen, which lasts long, keep no more of its message than it
// needs: what else came with it, in the same memory, can be freed. It returns how
// many bytes the message keeps, of the size that came.
func Compact(m *jsonrpc.Message, size int) int {
	if m.Kind != jsonrpc.Request || m.Method != methodListen {
		return size
	}
	data := jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	*m, _ = Parse(data)
	return len(data)
}
