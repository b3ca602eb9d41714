package mcp

import (
	"context"
	"sync"
)

// A Session holds what a server remembers of one client between its requests. It
// exists for clients of legacy revisions only, whose connection or HTTP session
// it belongs to, and what it holds is gone when that ends.
//
// The modern revision has no sessions: the requests of one client may go to any
// replica, and several users may share a connection. A server for both keeps
// what belongs to a user under [Request.Principal], what belongs to a piece of
// work under a handle that one tool returns and others take as an argument, and
// what one call needs in its next round with [SaveState].
//
// Its methods are safe for concurrent use. A nil Session holds nothing.
type Session struct {
	mu     sync.Mutex
	values map[any]any
	ctx    context.Context // nil until somebody wants to know when the session ends
	cancel context.CancelFunc
	ended  bool
}

// Context returns a context that is done when the session ends, for what has to be
// released then: context.AfterFunc(session.Context(), release). A session ends
// with its connection, and on HTTP when the client ends it, or is away for too
// long. That of a nil Session is never done.
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

// End ends the session. It is for transports, which call it once.
func (s *Session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.cancel != nil {
		s.cancel()
	}
}

// Value returns what was set under the key, or nil. As with a context, keys of a
// type of your own keep packages apart.
func (s *Session) Value(key any) any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// SetValue sets the value under a comparable key; nil removes it. It reports
// whether there is a session to hold it.
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
