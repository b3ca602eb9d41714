package live

import (
	"slices"
	"sort"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

const (
	defaultPage   = 200
	maxPage       = 1_000
	maxLooked     = 10_000    // messages that are looked at before others may add some
	maxSearched   = 32 << 20  // bytes of messages in which one page looks for a text
	maxCandidates = 2_000     // messages that are looked at for a text at a time
	maxReadAhead  = 256 << 10 // bytes of the file that are read at once
)

// A summary is what a list has of a message.
type summary struct {
	Seq      uint64    `json:"seq"`
	Time     time.Time `json:"time"`
	PID      int       `json:"pid"`
	Kind     string    `json:"kind"`
	Hop      string    `json:"hop,omitempty"`
	ToServer bool      `json:"toServer,omitempty"`
	Server   string    `json:"server,omitempty"`
	// Client is that of the call, also of messages that go to and come from servers for it.
	Client string        `json:"client,omitempty"`
	Method string        `json:"method,omitempty"`
	Name   string        `json:"name,omitempty"`
	Note   string        `json:"note,omitempty"`
	Effect string        `json:"effect,omitempty"` // of the note of a decision: what rules came to
	Call   uint64        `json:"call,omitempty"`
	Took   time.Duration `json:"took,omitempty"` // nanoseconds
	Size   int           `json:"size,omitempty"`
	Count  int           `json:"count,omitempty"`
	Error  bool          `json:"error,omitempty"`
	Legacy bool          `json:"legacy,omitempty"` // a server refused server/discover, as legacy ones do: no error
	// Row is its place among the messages that are neither notes of headers nor pings; these have none.
	Row uint64 `json:"row,omitempty"`
}

// A position is what there is while a page or a batch is made.
type position struct {
	// First and Last are the numbers of the oldest and the newest message that are kept; there are none where First is the
	// larger one.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// FirstRow and LastRow are the same, of rows.
	FirstRow uint64    `json:"firstRow"`
	LastRow  uint64    `json:"lastRow"`
	Items    []summary `json:"items"`
}

// A page is an answer of the list.
type page struct {
	position
	// Next is where to go on: before it, or after it. There is nothing more where More is false.
	Next  uint64 `json:"next"`
	More  bool   `json:"more"`
	Fault string `json:"fault,omitempty"`
	// Ended are the processes that have ended.
	Ended []int32 `json:"ended"`
	ends  uint64
}

// A found message is one that a filter shows, as far as the index tells.
type found struct {
	summary
	entry entry
}

// found returns message n if it is there; r.mu is held.
func (r *Ring) found(n uint64) (f found, known bool) {
	e, t := r.of(n)
	if e == nil {
		return f, false
	}
	s := summary{Seq: n, Time: time.Unix(0, e.time).UTC(), PID: int(e.pid), Kind: kinds[e.kind], Hop: hops[e.hop], ToServer: !e.toClient && e.hop > 0,
		Server: t.server, Client: t.client, Method: t.method, Name: t.name, Note: t.note, Effect: effects[e.effect],
		Call: e.call, Took: time.Duration(e.took), Size: int(e.size), Count: int(e.count), Error: e.failed, Legacy: e.legacy}
	if !e.unlisted() {
		s.Row = e.row
	}
	return found{s, *e}, true
}

// list is a page of messages after a number, the oldest first, or else before one, the newest first; 0 is the end.
func (r *Ring) list(f *filter, from uint64, after bool, most int) page {
	p := page{position: position{Items: []summary{}}, More: true}
	text := search{ring: r, filter: f}
	for ; p.More && len(p.Items) < most && text.searched < maxSearched; from = p.Next {
		candidates := maxCandidates
		if len(f.texts) == 0 {
			candidates = most - len(p.Items)
		}
		looked := r.look(&p, f, from, after, candidates)
		for i := range looked {
			enough := text.searched >= maxSearched
			if !enough && !text.finds(looked[i:]) {
				continue
			}
			if enough || len(p.Items) == most { // the page ends before it
				if p.Next, p.More = looked[i].Seq+1, true; after {
					p.Next = looked[i].Seq - 1
				}
				break
			}
			p.Items = append(p.Items, looked[i].summary)
		}
	}
	return p
}

// look finds the next messages of a page by the index, and says in p where to go on.
func (r *Ring) look(p *page, f *filter, from uint64, after bool, most int) (looked []found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, next := r.index.First, r.index.Next
	p.Last, p.LastRow = next-1, r.rows
	if p.First == 0 {
		p.First, p.FirstRow = first, r.firstRow()
	}
	if p.Ended == nil || p.ends != r.ends {
		p.Ended, p.ends = append([]int32{}, r.ended...), r.ends
	}
	if r.fault != nil {
		p.Fault = r.fault.Error()
	}
	r.asking++
	n, step := from-1, ^uint64(0) // back
	if after {
		n, step = max(from+1, first), 1
	} else if from == 0 || from > next {
		n = next - 1
	}
	for left := maxLooked; left > 0 && len(looked) < most && n >= first && n < next; left, n = left-1, n+step {
		if r.shows(f, r.index.At(n), r.asking) {
			one, _ := r.found(n)
			looked = append(looked, one)
		}
	}
	p.More = n >= first && n < next
	p.Next = n - step
	return looked
}

// firstRow is the oldest row; r.mu is held.
func (r *Ring) firstRow() uint64 {
	switch e, _ := r.of(r.index.First); {
	case e == nil:
		return r.rows + 1
	case e.unlisted():
		return e.row + 1
	default:
		return e.row
	}
}

// numberOf is the number of the message at a row, or the one behind the last.
func (r *Ring) numberOf(row uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.index.First
	return first + uint64(sort.Search(int(r.index.Next-first), func(i int) bool { return r.index.At(first+uint64(i)).row >= row }))
}

// A search finds out which messages have the text of a filter.
type search struct {
	ring     *Ring
	filter   *filter
	block    []byte // of the file, in which the next messages are
	from     int64  // where it is
	first    uint64 // the oldest message after it was read
	searched int    // bytes
	scratch  []byte
}

// finds reports whether the first of some messages has the text.
func (s *search) finds(looked []found) bool {
	one := &looked[0]
	e := &one.entry
	if len(s.filter.texts) == 0 || one.Kind == traffic.Dropped {
		return true
	}
	if e.at < 0 {
		return false
	}
	if e.at < s.from || e.end() > s.from+int64(len(s.block)) {
		s.read(looked)
	}
	if one.Seq < s.first {
		return false
	}
	record := s.block[e.at-s.from : e.end()-s.from]
	message := record[e.head:]
	if e.common {
		shared, has := s.ring.shared(one.Seq)
		if !has {
			return false
		}
		message = []byte(shared)
		s.searched += len(message)
	}
	return s.filter.contains(message, &s.scratch) || one.Kind == traffic.Failure && s.filter.contains(record[:e.head], &s.scratch)
}

// read reads the part of the file that has the first of some messages, and those behind it that are close to it.
func (s *search) read(looked []found) {
	from, to := looked[0].entry.at, looked[0].entry.end()
	for i := range looked {
		if e := &looked[i].entry; e.at >= 0 {
			low, high := min(from, e.at), max(to, e.end())
			if high-low > maxReadAhead && i > 0 {
				break
			}
			from, to = low, high
		}
	}
	s.from, s.block = from, slices.Grow(s.block[:0], int(to-from))[:to-from]
	if _, err := s.ring.file.ReadAt(s.block, from); err != nil {
		clear(s.block)
	}
	s.searched += len(s.block)
	s.ring.mu.Lock()
	s.first = s.ring.index.First
	s.ring.mu.Unlock()
}
