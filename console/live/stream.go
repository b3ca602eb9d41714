package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/console/reply"
)

const (
	batchPause  = 50 * time.Millisecond // between two batches
	alivePause  = 15 * time.Second      // between two signs of life where nothing happens
	readerTime  = 10 * time.Second      // for a reader to take a batch
	maxBatch    = 500                   // messages of a batch
	maxBehind   = 5_000                 // messages; who is further behind misses some
	maxStreams  = 16                    // at a time
	retryMillis = 1_000
)

// A batch is one event of the stream.
type batch struct {
	First    uint64    `json:"first"`
	Last     uint64    `json:"last"`
	FirstRow uint64    `json:"firstRow"`
	LastRow  uint64    `json:"lastRow"`
	Items    []summary `json:"items"` // the oldest first
	Skipped  uint64    `json:"skipped,omitempty"`
	Cleared  bool      `json:"cleared,omitempty"` // all before First were removed
	Fault    string    `json:"fault,omitempty"`
	Ended    []int32   `json:"ended,omitzero"` // processes; nil where they are as before
}

// enter counts a stream, and reports whether there may be one more.
func (r *Ring) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streams >= maxStreams {
		return false
	}
	r.streams++
	return true
}

func (r *Ring) exit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams--
}

func (r *Ring) serveStream(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, asked, ok := askedFor(w, q, "after")
	if !ok {
		return
	}
	after, resumes := asked["after"], q.Has("after")
	if id, err := strconv.ParseUint(req.Header.Get("Last-Event-ID"), 10, 63); err == nil {
		after, resumes = id, true
	}
	if !r.enter() {
		reply.Error(w, http.StatusServiceUnavailable, fmt.Errorf("%d pages watch already; close one", maxStreams))
		return
	}
	defer r.exit()
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{ring: r, filter: &f, w: w, out: http.NewResponseController(w)}
	s.begin(after, resumes)
	if s.write(fmt.Appendf(nil, "retry: %d\n\n", retryMillis)) == nil {
		s.run(req)
	}
}

// A stream is one reader of new messages. Nobody waits for it: it reads the ring, and misses what is not there any more.
type stream struct {
	ring    *Ring
	filter  *filter
	w       http.ResponseWriter
	out     *http.ResponseController
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
	if s.at = s.ring.next - 1; resumes && after < s.at {
		s.at = max(after, s.cleared)
	}
	if resumes && after < s.ring.cleared { // it does not know yet
		s.cleared = after
	}
}

// run sends batches until the reader is gone.
func (s *stream) run(req *http.Request) {
	pause, alive := time.NewTicker(batchPause), time.NewTicker(alivePause)
	defer pause.Stop()
	defer alive.Stop()
	for {
		changed, more, err := s.batch()
		for err == nil && !more {
			select {
			case <-changed:
				more = true
			case <-alive.C:
				err = s.write([]byte(": alive\n\n"))
			case <-req.Context().Done():
				return
			}
		}
		if err != nil {
			return
		}
		select { // so that what comes meanwhile is in the same batch
		case <-pause.C:
		case <-req.Context().Done():
			return
		}
	}
}

// batch sends what is new. There may be more at once, or else when changed is closed.
func (s *stream) batch() (changed <-chan struct{}, more bool, err error) {
	r := s.ring
	r.mu.Lock()
	changed = r.more()
	b := batch{Cleared: r.cleared > s.cleared}
	s.cleared = r.cleared
	if s.at = max(s.at, s.cleared); r.next-1-s.at > maxBehind {
		b.Skipped = r.next - 1 - maxBatch - s.at
		s.at += b.Skipped
	}
	r.mu.Unlock()
	p := r.list(s.filter, s.at, true, maxBatch)
	if p.First-1 > s.at {
		b.Skipped += p.First - 1 - s.at
	}
	b.First, b.Last, b.FirstRow, b.LastRow, b.Items, b.Fault = p.First, p.Last, p.FirstRow, p.LastRow, p.Items, p.Fault
	if p.ends != s.ends {
		b.Ended = p.Ended
	}
	s.at = max(s.at, p.Next)
	if len(b.Items) == 0 && b.Skipped == 0 && !b.Cleared && b.Fault == s.fault && b.Ended == nil {
		return changed, p.More, nil
	}
	s.fault, s.ends = b.Fault, p.ends
	data, err := json.Marshal(&b)
	if err != nil {
		return nil, false, err
	}
	return changed, p.More, s.write(fmt.Appendf(nil, "event: messages\nid: %d\ndata: %s\n\n", s.at, data))
}

// write sends a part of the stream.
func (s *stream) write(part []byte) error {
	_ = s.out.SetWriteDeadline(time.Now().Add(readerTime)) // where there is none, whoever serves has one
	if _, err := s.w.Write(part); err != nil {
		return err
	}
	return s.out.Flush()
}
