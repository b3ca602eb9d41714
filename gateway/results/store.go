package results

import (
	"cmp"
	"crypto/rand"
	"sync"
	"time"
)

// A Store keeps long results for a while. It is safe for concurrent use.
type Store struct {
	max int

	mu    sync.Mutex
	bytes int
	all   map[string]*text
	order []string // the oldest first
}

// NewStore returns a store that keeps so many bytes at most, by default 64 MiB: the oldest go first, and all after 30
// minutes.
func NewStore(most int) *Store { return &Store{max: cmp.Or(most, defaultKept)} }

type text struct {
	text, kind string
	of         owner
	since      time.Time
}

// add keeps a text and returns its id, which nobody can guess. Those that are too old, and the oldest where
// there are too many bytes, are forgotten.
func (s *Store) add(of, kind string, by owner) (id string) {
	id = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*text{}
	}
	s.all[id] = &text{of, kind, by, time.Now()}
	s.order = append(s.order, id)
	s.bytes += len(of)
	for len(s.order) > 1 && (s.bytes > s.max || time.Since(s.all[s.order[0]].since) > keptTime) {
		s.bytes -= len(s.all[s.order[0]].text)
		delete(s.all, s.order[0])
		s.order = s.order[1:]
	}
	return id
}

// get returns a text to whom it belongs.
func (s *Store) get(id string, by owner) (of, kind string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[id]
	if t == nil || t.of != by || time.Since(t.since) > keptTime {
		return "", "", false
	}
	return t.text, t.kind, true
}
