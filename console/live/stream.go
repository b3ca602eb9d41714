package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/console/reply"
)

const (
	batchPause  = 50 * time.Millisecond // between two batches
	maxBatch    = 500                   // messages of a batch
	maxBehind   = 5_000                 // messages; who is further behind misses some
	maxStreams  = 16                    // at a time
	retryMillis = 1_000
)

// A batch is one event of the stream.
type batch struct {
	position         // its items: the oldest first
	Skipped  uint64  `json:"skipped,omitempty"`
	Cleared  bool    `json:"cleared,omitempty"` // all before First were removed
	Fault    string  `json:"fault,omitempty"`
	Ended    []int32 `json:"ended,omitzero"` // processes; nil where they are as before
}

func (r *Ring) serveStream(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, asked, err := askedFor(q, "after")
	if err != nil {
		reply.Error(w, http.StatusBadRequest, err)
		return
	}
	after, resumes := asked["after"], q.Has("after")
	if id, err := strconv.ParseUint(req.Header.Get("Last-Event-ID"), 10, 63); err == nil {
		after, resumes = id, true
	}
	s := &stream{ring: r, filter: &f}
	s.begin(after, resumes)
	if !r.readers.Serve(w, req, maxStreams, follow.Stream{Begin: fmt.Sprintf("retry: %d\n\n", retryMillis), Pause: batchPause, Next: s.next}) {
		reply.Error(w, http.StatusServiceUnavailable, fmt.Errorf("%d pages watch already; close one", maxStreams))
	}
}

// A stream is one reader of new messages. Nobody waits for it: it reads the ring, and misses what is not there any more.
type stream struct {
	ring    *Ring
	filter  *filter
	at      uint64 // the newest message that it had
	cleared uint64 // as the ring was, when it looked last
	ends    uint64 // the same
	fault   string
}

// begin sets where the stream begins.
func (s *stream) begin(after uint64, resumes bool) {
	s.ring.mu.Lock()
	defer s.ring.mu.Unlock()
	s.cleared = s.ring.cleared
	if s.at = s.ring.index.Next - 1; resumes && after < s.at {
		s.at = max(after, s.cleared)
	}
	if resumes && after < s.ring.cleared { // it does not know yet
		s.cleared = after
	}
}

// next appends a batch of what is new to text.
func (s *stream) next(text []byte) (all []byte, changed <-chan struct{}, over bool) {
	r := s.ring
	r.mu.Lock()
	changed = r.index.Changed()
	b := batch{Cleared: r.cleared > s.cleared}
	s.cleared = r.cleared
	if s.at = max(s.at, s.cleared); r.index.Next-1-s.at > maxBehind {
		b.Skipped = r.index.Next - 1 - maxBatch - s.at
		s.at += b.Skipped
	}
	r.mu.Unlock()
	p := r.list(s.filter, s.at, true, maxBatch)
	if p.More {
		changed = nil
	}
	if p.First-1 > s.at {
		b.Skipped += p.First - 1 - s.at
	}
	b.position, b.Fault = p.position, p.Fault
	if p.ends != s.ends {
		b.Ended = p.Ended
	}
	s.at = max(s.at, p.Next)
	if len(b.Items) == 0 && b.Skipped == 0 && !b.Cleared && b.Fault == s.fault && b.Ended == nil {
		return text, changed, false
	}
	s.fault, s.ends = b.Fault, p.ends
	data, err := json.Marshal(&b)
	if err != nil {
		return text, nil, true
	}
	return fmt.Appendf(text, "event: messages\nid: %d\ndata: %s\n\n", s.at, data), changed, false
}
