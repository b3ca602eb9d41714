package search

import (
	"context"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

const (
	maxSearchers = 1_000            // maximum number of clients whose last search is kept
	usedTime     = 10 * time.Minute // how long after a search a call of a found tool counts as its use
)

// recent holds the last search of each client. If a client calls a tool that it found, the index
// remembers the query, so that the query ranks this tool higher next time.
type recent struct {
	mu   sync.Mutex
	last map[any]search
}

// A search is the last search of a client.
type search struct {
	at    time.Time
	found map[string]string // queries by tool
}

// record records the tools that a client found.
func (r *recent) record(req *mcp.Request, found map[string]string) {
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

// queryFor returns the query with which a client found a tool that it now calls, or an empty
// string.
func (r *recent) queryFor(req *mcp.Request, tool string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.last[ratelimit.Caller(req)]
	if time.Since(s.at) > usedTime {
		return ""
	}
	return s.found[tool]
}

// use calls a tool. If the call succeeds, use stores the query with which the client found the tool
// in the index.
func (s *searcher) use(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, err := s.next.Handle(ctx, req)
	if query := s.recent.queryFor(req, req.Name); query != "" && mcp.OutcomeOf(ctx, &result, err) == mcp.OutcomeOK {
		s.index.Remember(req.Name, query)
	}
	return result, err
}
