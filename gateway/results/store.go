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

// textCost is what a text that is kept needs in addition to its bytes, about.
const textCost = 512

// A Store keeps long results for a while. It is safe for concurrent use.
type Store struct {
	max int

	mu    sync.Mutex
	bytes *share.Held // by users
	all   map[string]*text
	order []string // the oldest first
}

// NewStore returns a store that keeps so many bytes at most, by default 64 MiB: where there are more, the oldest of the user go who has
// most, and all after 30 minutes.
func NewStore(most int) *Store {
	return &Store{max: cmp.Or(most, defaultKept), bytes: share.NewHeld(), all: map[string]*text{}}
}

type text struct {
	text, kind string
	server     string
	user       string // in whose share it is
	of         mcp.Grant
	since      time.Time
}

// size is what a text takes, with what is kept of it otherwise.
func (t *text) size() int { return len(t.text) + textCost }

// add keeps a text and returns its id, which nobody can guess. It is the owner's, or else that of a user as [share.Of] has it. Those that are too old, and some where there are too many bytes, are
// forgotten.
func (s *Store) add(of, kind, server, user string, by mcp.Grant) (id string) {
	id = rand.Text()
	if by.Owner != nil {
		user = share.Key(by.Owner.Issuer, by.Owner.Subject, "")
	}
	t := &text{of, kind, server, user, by, time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) > 0 && time.Since(s.all[s.order[0]].since) > keptTime {
		s.forget(0)
	}
	for s.bytes.Used()+t.size() > s.max {
		from, ok := s.bytes.GivesUp(user, t.size())
		if !ok {
			break
		}
		s.forget(slices.IndexFunc(s.order, func(id string) bool { return s.all[id].user == from }))
	}
	s.all[id] = t
	s.order = append(s.order, id)
	s.bytes.Add(user, t.size())
	return id
}

// forget forgets a text at a place of the order; the lock is held.
func (s *Store) forget(at int) {
	id := s.order[at]
	t := s.all[id]
	s.bytes.Add(t.user, -t.size())
	delete(s.all, id)
	s.order = slices.Delete(s.order, at, at+1)
}

// get returns a text of a server that the sender of a request may read. The error is that of [mcp.Grant.Allows].
func (s *Store) get(ctx context.Context, id, server string, who *mcp.Principal) (of, kind string, err error) {
	s.mu.Lock()
	t := s.all[id]
	s.mu.Unlock()
	if t == nil || t.server != server || time.Since(t.since) > keptTime {
		return "", "", mcp.ErrNotGranted
	}
	if err := t.of.Allows(ctx, who); err != nil {
		return "", "", err
	}
	return t.text, t.kind, nil
}
