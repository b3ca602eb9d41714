package mcp

import (
	"context"
	"sync"
)

// A Session holds a server's data about one client between the client's requests. It exists for
// clients of legacy revisions only. It belongs to their connection or HTTP session and is lost when
// that ends.
//
// The modern revision has no sessions: the requests of one client may go to any replica, and
// several users may share a connection. A server for both eras stores data of a user under
// [Request.Principal]. It stores data of a piece of work under a handle that one tool returns and
// others take as an argument. Data that one call needs in its next round belongs in [SaveState].
//
// Its methods are safe for concurrent use. A nil Session holds nothing.
type Session struct {
	mu     sync.Mutex
	values map[any]any
	ctx    context.Context // nil until Context is called
	cancel context.CancelFunc
	ended  bool
}

// Context returns a context that is done when the session ends. Use it to release resources:
// context.AfterFunc(session.Context(), release). A session ends with its connection. Over HTTP it
// ends when the client ends it or is idle for too long. The context of a nil Session is never done.
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

// End ends the session. Transports call it once.
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

// Value returns the value under the key, or nil. As with a context, use a key type of your own to
// avoid collisions between packages.
func (s *Session) Value(key any) any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// SetValue sets the value under a comparable key; nil removes it. It reports whether there is a
// session that holds it.
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
