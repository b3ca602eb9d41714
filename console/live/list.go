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

// A page is an answer of the list.
type page struct {
	// First and Last are the numbers of the oldest and the newest message that are kept; there are none where First is the
	// larger one.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// FirstRow and LastRow are the same, of rows.
	FirstRow uint64    `json:"firstRow"`
	LastRow  uint64    `json:"lastRow"`
	Items    []summary `json:"items"`
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
	has   bool // the text that is looked for
}

// summarize returns what a list has of message n; r.mu is held.
func (r *Ring) summarize(n uint64, e *entry) summary {
	s := summary{Seq: n, Time: time.Unix(0, e.time).UTC(), PID: int(e.pid), Kind: kinds[e.kind], Hop: hops[e.hop], ToServer: !e.toClient && e.hop > 0,
		Server: r.table.text(e.server), Client: r.table.text(e.client), Method: r.table.text(e.method), Name: r.table.text(e.name), Note: r.table.text(e.note), Effect: effects[e.effect],
		Call: e.call, Took: time.Duration(e.took), Size: int(e.size), Count: int(e.count), Error: e.failed, Legacy: e.legacy}
	if !e.unlisted {
		s.Row = e.row
	}
	return s
}

// list is a page of messages after a number, the oldest first, or else before one, the newest first; 0 is the end.
func (r *Ring) list(f *filter, from uint64, after bool, most int) page {
	p := page{Items: []summary{}, More: true}
	if len(f.texts) == 0 {
		for p.More && len(p.Items) < most {
			for _, one := range r.look(&p, f, from, after, most-len(p.Items)) {
				p.Items = append(p.Items, one.summary)
			}
			from = p.Next
		}
		return p
	}
	for searched := 0; p.More && len(p.Items) < most && searched < maxSearched; from = p.Next {
		looked := r.look(&p, f, from, after, maxCandidates)
		done := r.search(f, looked, &searched)
		for i := range done {
			if looked[i].has && len(p.Items) < most {
				p.Items = append(p.Items, looked[i].summary)
			} else if looked[i].has {
				done = i
				break
			}
		}
		if done < len(looked) { // the page ends before it
			if p.Next, p.More = looked[done].Seq+1, true; after {
				p.Next = looked[done].Seq - 1
			}
		}
	}
	return p
}

// look finds the next messages of a page by the index, and says in p where to go on.
func (r *Ring) look(p *page, f *filter, from uint64, after bool, most int) (looked []found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Last, p.LastRow = r.next-1, r.rows
	if p.First == 0 {
		p.First, p.FirstRow = r.first, r.firstRow()
	}
	if p.Ended == nil || p.ends != r.ends {
		p.Ended, p.ends = append([]int32{}, r.ended...), r.ends
	}
	if r.fault != nil {
		p.Fault = r.fault.Error()
	}
	c := r.choose(f)
	n, step := from-1, ^uint64(0) // back
	if after {
		n, step = max(from+1, r.first), 1
	} else if from == 0 || from > r.next {
		n = r.next - 1
	}
	for left := maxLooked; left > 0 && len(looked) < most && n >= r.first && n < r.next; left, n = left-1, n+step {
		if e := r.of(n); r.shows(&c, e) {
			looked = append(looked, found{r.summarize(n, e), *e, false})
		}
	}
	p.More = n >= r.first && n < r.next
	p.Next = n - step
	return looked
}

// firstRow is the oldest row; r.mu is held.
func (r *Ring) firstRow() uint64 {
	switch e := r.of(r.first); {
	case r.first == r.next:
		return r.rows + 1
	case e.unlisted:
		return e.row + 1
	default:
		return e.row
	}
}

// numberOf is the number of the message at a row, or the one behind the last.
func (r *Ring) numberOf(row uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + uint64(sort.Search(int(r.next-r.first), func(i int) bool { return r.of(r.first+uint64(i)).row >= row }))
}

// search finds out which messages have the text, until enough bytes are searched, and returns how many it looked at.
func (r *Ring) search(f *filter, looked []found, searched *int) (done int) {
	var block, scratch []byte
	for done < len(looked) && *searched < maxSearched {
		end, from, to := r.block(looked, done)
		if block = slices.Grow(block[:0], int(to-from))[:to-from]; len(block) > 0 {
			if _, err := r.file.ReadAt(block, from); err != nil {
				clear(block)
			}
			*searched += len(block)
		}
		r.mu.Lock()
		first := r.first
		r.mu.Unlock()
		for ; done < end; done++ {
			one := &looked[done]
			one.has = one.Kind == traffic.Dropped || one.Seq >= first && one.entry.at >= 0 && r.matches(f, one, &scratch, block, from, searched)
		}
	}
	return done
}

// matches reports whether a message that is in a block of the file has the text. What is searched elsewhere is added to searched.
func (r *Ring) matches(f *filter, one *found, scratch *[]byte, block []byte, from int64, searched *int) bool {
	e := &one.entry
	record := block[e.at-from : e.end()-from]
	if e.shared > 0 {
		shared, has := r.sharedOf(one.Seq)
		*searched += len(shared)
		return has && f.contains([]byte(shared), scratch)
	}
	return f.contains(record[e.head:], scratch) || one.Kind == traffic.Failure && f.contains(record[:e.head], scratch)
}

// block finds the messages from the one at begin on that stand close to each other in the file, and where.
func (r *Ring) block(looked []found, begin int) (end int, from, to int64) {
	for end = begin; end < len(looked); end++ {
		e := &looked[end].entry
		if e.at < 0 {
			continue
		}
		low, high := e.at, e.end()
		if to > from {
			low, high = min(low, from), max(high, to)
			if high-low > maxReadAhead {
				return end, from, to
			}
		}
		from, to = low, high
	}
	return end, from, to
}
