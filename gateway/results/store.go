package results

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// textCost is the approximate number of bytes that a kept text needs in addition to its own.
const textCost = 512

// A Store keeps long results for a while. It is safe for concurrent use.
type Store struct {
	max    int
	shared *sharedStore // nil if no other replica reads the results

	mu    sync.Mutex
	bytes *share.Held // bytes by user
	all   map[string]*text
	order []string // ids, the oldest first
}

// NewStore returns a store that keeps at most most bytes; 0 means 64 MiB. Above that, it removes
// the oldest texts of the user with the most bytes. It removes each text after 30 minutes.
func NewStore(most int) *Store {
	return &Store{max: cmp.Or(most, defaultKept), bytes: share.NewHeld(), all: map[string]*text{}}
}

type text struct {
	text, kind string
	server     string
	user       string // the user whose share contains the text
	of         mcp.Ownership
	since      time.Time
}

// size returns the bytes of a text with its overhead.
func (t *text) size() int { return len(t.text) + textCost }

// add keeps a text and returns its id, which cannot be guessed. The text counts for the owner of
// the grant, or else for user, which is a result of [share.Of]. The call removes texts that are too
// old, and further texts if the store has too many bytes. It also keeps the text in the shared store.
func (s *Store) add(ctx context.Context, of, kind, server, user string, by mcp.Ownership) (id string) {
	id = rand.Text()
	if by.Owner != nil {
		user = share.Key(by.Owner.Issuer, by.Owner.Subject, "")
	}
	t := &text{of, kind, server, user, by, time.Now()}
	s.insert(id, t)
	if s.shared != nil {
		s.shared.put(ctx, id, t)
	}
	return id
}

func (s *Store) insert(id string, t *text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) > 0 && time.Since(s.all[s.order[0]].since) > keptTime {
		s.forget(0)
	}
	for s.bytes.Used()+t.size() > s.max {
		from, ok := s.bytes.GivesUp(t.user, t.size())
		if !ok {
			break
		}
		s.forget(slices.IndexFunc(s.order, func(id string) bool { return s.all[id].user == from }))
	}
	s.all[id] = t
	s.order = append(s.order, id)
	s.bytes.Add(t.user, t.size())
}

// forget removes the text at an index of order. The caller holds the lock.
func (s *Store) forget(at int) {
	id := s.order[at]
	t := s.all[id]
	s.bytes.Add(t.user, -t.size())
	delete(s.all, id)
	s.order = slices.Delete(s.order, at, at+1)
}

// A found is a text that a caller may read.
type found struct {
	kind  string
	size  int
	piece func(ctx context.Context, from, to int) (string, error) // returns a part of the text
}

// get returns a text of a server if who may read it. Otherwise it returns the error of
// [mcp.Ownership.Allows].
func (s *Store) get(ctx context.Context, id, server string, who *mcp.Principal) (*found, error) {
	s.mu.Lock()
	t := s.all[id]
	s.mu.Unlock()
	if t == nil && s.shared != nil {
		return s.shared.get(ctx, id, server, who)
	}
	if t == nil || t.server != server || time.Since(t.since) > keptTime {
		return nil, mcp.ErrNotOwner
	}
	if err := t.of.Allows(ctx, who); err != nil {
		return nil, err
	}
	return &found{kind: t.kind, size: len(t.text), piece: func(_ context.Context, from, to int) (string, error) { return t.text[from:to], nil }}, nil
}
