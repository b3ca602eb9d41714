package mcp

import "sync"

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
