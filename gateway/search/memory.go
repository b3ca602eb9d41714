package search

import (
	"context"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

const (
	maxSearchers = 1_000            // limits the clients whose last search is kept
	usedTime     = 10 * time.Minute // is the time after a search in which the call of a tool that it found counts as its use
)

// recent holds the last search of each client. A query that found a tool which was then used finds
// it sooner the next time.
type recent struct {
	mu   sync.Mutex
	last map[any]search
}

// A search is the last one of a client.
type search struct {
	at    time.Time
	found map[string]string // queries by tool
}

// searched stores the tools that a client found.
func (r *recent) searched(req *mcp.Request, found map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[any]search{}
	}
	who := ratelimit.Caller(req)
	if _, known := r.last[who]; !known && len(r.last) >= maxSearchers {
		for other := range r.last { // any one
			delete(r.last, other)
			break
		}
	}
	r.last[who] = search{time.Now(), found}
}

// used returns the query with which a client found a tool that it calls now, or an empty string.
func (r *recent) used(req *mcp.Request, tool string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.last[ratelimit.Caller(req)]
	if time.Since(s.at) > usedTime {
		return ""
	}
	return s.found[tool]
}

// use calls a tool. If the call succeeds, it remembers the query with which the client found it.
func (s *searcher) use(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, err := s.next.Handle(ctx, req)
	if query := s.recent.used(req, req.Name); query != "" && mcp.OutcomeOf(ctx, &result, err) == mcp.OutcomeOK {
		s.index.Remember(req.Name, query)
	}
	return result, err
}
