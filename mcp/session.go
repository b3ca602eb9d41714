package mcp

import (
	"context"
	"encoding/json"
	"sync"
)

// A Session stores a server's data about one client between the client's requests. Only clients of
// legacy revisions have a Session. It belongs to their connection or HTTP session, and its data are
// lost when that ends.
//
// The modern revision has no sessions. The requests of one client may go to any replica, and
// several users may share a connection. A server for both eras should store data of a user under
// [Request.Principal]. It should store data of a piece of work under a handle that one tool returns
// and other tools take as an argument. Data that a call needs in its next round belong in
// [SaveForNextRound].
//
// The methods are safe for concurrent use. A nil Session contains no values.
type Session struct {
	mu     sync.Mutex
	values map[any]any
	ctx    context.Context // nil until Context is called
	cancel context.CancelFunc
	ended  bool
	notify func(ctx context.Context, method string, params json.RawMessage) error // nil without a stream
}

// Context returns a context that is done when the session ends. Use it to release resources:
// context.AfterFunc(session.Context(), release). A session ends with its connection. Over HTTP, it
// ends when the client ends it, or when it was idle for too long. The context of a nil Session is
// never done.
func (s *Session) Context() context.Context {
	if s == nil {
		return context.Background()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		if s.ended {
			s.cancel()
		}
	}
	return s.ctx
}

// End ends the session. The transport calls it once.
func (s *Session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.cancel != nil {
		s.cancel()
	}
}

// Used reports whether the session has values or a context. Transports may end one that has neither,
// and begin it again with the next request.
func (s *Session) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values) > 0 || s.ctx != nil
}

// Value returns the value for a key, or nil. As for a context, the key should have a type that the
// package defines, to avoid collisions with other packages.
func (s *Session) Value(key any) any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// SetValue sets the value for a comparable key; nil removes the value. It reports false if s is
// nil.
func (s *Session) SetValue(key, value any) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.values, key)
		return true
	}
	if s.values == nil {
		s.values = make(map[any]any)
	}
	s.values[key] = value
	return true
}
