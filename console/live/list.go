package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/traffic"
)

const (
	defaultPage   = 200
	maxPage       = 1_000
	maxLooked     = 10_000    // messages that one lock covers, before others may add some
	maxSearched   = 32 << 20  // bytes of messages that are searched for one page
	maxCandidates = 2_000     // messages that are searched at a time
	maxReadAhead  = 256 << 10 // bytes of the file that are read at once
)

// A summary is a message in a list.
type summary struct {
	Seq      uint64    `json:"seq"`
	Time     time.Time `json:"time"`
	PID      int       `json:"pid"`
	Kind     string    `json:"kind"`
	Hop      string    `json:"hop,omitempty"`
	ToServer bool      `json:"toServer,omitempty"`
	Server   string    `json:"server,omitempty"`
	// Client is that of the call, even for its messages to and from servers.
	Client string        `json:"client,omitempty"`
	Method string        `json:"method,omitempty"`
	Name   string        `json:"name,omitempty"`
	Note   string        `json:"note,omitempty"`
	Effect string        `json:"effect,omitempty"` // is the effect in the note of a decision
	Call   uint64        `json:"call,omitempty"`
	Took   time.Duration `json:"took,omitempty"` // in nanoseconds
	Size   int           `json:"size,omitempty"`
	Count  int           `json:"count,omitempty"`
	Error  bool          `json:"error,omitempty"`
	Legacy bool          `json:"legacy,omitempty"` // is set if a server refused server/discover, as legacy ones do, which is not an error
	// Row is its place among the messages other than notes of headers and pings, which have no row.
	Row uint64 `json:"row,omitempty"`
}

// A position is the state of the ring when a page or a batch is made.
type position struct {
	// First and Last are the numbers of the oldest and the newest kept message. There are none if
	// First is larger.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// FirstRow and LastRow are the same for rows.
	FirstRow uint64    `json:"firstRow"`
	LastRow  uint64    `json:"lastRow"`
	Items    []summary `json:"items"`
}

// A page is a response of the list.
type page struct {
	position
	// Next is where the next page starts: before it, or after it. More is false if there is no
	// further message.
	Next  uint64 `json:"next"`
	More  bool   `json:"more"`
	Fault string `json:"fault,omitempty"`
	// Ended lists the processes that have ended.
	Ended []int32 `json:"ended"`
	ends  uint64
}

// A found message is one that a filter shows, by the index.
type found struct {
	summary
	entry entry
}

// found returns message n if it is kept. The caller holds r.mu.
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

// list returns a page of messages: with after those behind a number, the oldest first, else those
// before it, the newest first. The number 0 is the end.
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

// look finds the next messages of a page by the index, and sets in p where the next look starts.
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
	n, step := from-1, ^uint64(0) // goes back
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

// firstRow returns the oldest row. The caller holds r.mu.
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

// numberOf returns the number of the message at a row, or the one after the last.
func (r *Ring) numberOf(row uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.index.First
	return first + uint64(sort.Search(int(r.index.Next-first), func(i int) bool { return r.index.At(first+uint64(i)).row >= row }))
}

// A search finds messages with the text of a filter.
type search struct {
	ring     *Ring
	filter   *filter
	block    []byte // the part of the file with the next messages
	from     int64  // is its offset
	first    uint64 // the oldest message after it was read
	searched int    // counts bytes
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

// read reads the part of the file that has the first of some messages, and the next ones if they
// are close to it.
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

// pingMethod is the method of messages that only check whether a peer is there.
const pingMethod = "ping"

const maxFilterText = 1_000 // bytes of the text to find

// The parameters of a query select messages. The tags are those of [fields.Params].
type parameters struct {
	Client  string `doc:"calls of clients whose name and version, such as 'claude/1.0', contain this, with the requests to servers for them"`
	Server  string `doc:"messages of the server of exactly this name, and the calls of clients that lead to it"`
	Method  string `doc:"messages of exactly this method"`
	Kind    string `enum:"request,notification,response,error,failure,dropped,note" doc:"messages of this kind, or of several, with commas"`
	Name    string `doc:"messages about a tool, prompt or URI that contains this"`
	Text    string `doc:"messages that contain this, up to 1,000 bytes"`
	Errors  bool   `doc:"with 'true': errors, results with 'isError', and requests without a response"`
	PID     int32  `doc:"messages of this process"`
	Call    uint64 `doc:"messages of this call, of the process in 'pid'"`
	Ping    bool   `doc:"with 'false': all but 'ping' and its responses, unless it fails"`
	Headers bool   `doc:"with 'false': all but notes of HTTP headers"`
}

var filters = fields.ParamsOf[parameters]()

// A filter selects messages.
type filter struct {
	client, server, method, name string
	kinds                        uint16   // bit n set if kind n is shown; 0 shows all
	texts                        [][]byte // alternatives in lower case, one of which must be in the message
	errors, noHeaders, noPing    bool
	pid                          int32
	call                         uint64
}

// filterOf parses the filter of a query.
func filterOf(q url.Values) (f filter, err error) {
	p := parameters{Ping: true, Headers: true}
	if err := filters.Query(&p, q); err != nil {
		return f, err
	}
	f = filter{client: strings.ToLower(beginning(p.Client)), server: beginning(p.Server), method: beginning(p.Method), name: strings.ToLower(beginning(p.Name)), // cut like those of the index
		errors: p.Errors, noHeaders: !p.Headers, noPing: !p.Ping, pid: p.PID, call: p.Call}
	for name := range strings.SplitSeq(p.Kind, ",") {
		if kind := kindOf(name); kind > 0 {
			f.kinds |= 1 << kind
		}
	}
	if text := p.Text; text != "" {
		if len(text) > maxFilterText {
			return f, fmt.Errorf("text: expected at most %d bytes, got %d", maxFilterText, len(text))
		}
		plain := lower(nil, []byte(text))
		f.texts = [][]byte{plain}
		if quoted := jsonrpc.AppendString(nil, string(plain)); len(quoted) > len(plain)+2 { // in the JSON form of a message
			f.texts = append(f.texts, quoted[1:len(quoted)-1])
		}
	}
	return f, nil
}

// askedFor parses the filter and the numbers of a query; a missing number is 0.
func askedFor(q url.Values, names ...string) (f filter, numbers map[string]uint64, err error) {
	f, err = filterOf(q)
	numbers = map[string]uint64{}
	for _, name := range names {
		if text := q.Get(name); text != "" && err == nil {
			if numbers[name], err = strconv.ParseUint(text, 10, 63); err != nil {
				err = fmt.Errorf("%s: expected a number, got %.40q", name, text)
			}
		}
	}
	if err != nil {
		err = reply.Refuse(http.StatusBadRequest, "%v", err)
	}
	return f, numbers, err
}

// A fit reports whether a filter shows messages with certain texts.
type fit int8

const (
	fitsNot   fit = iota
	fitsCalls     // only those whose call leads to the server
	fits
)

func (f *filter) fit(t *texts) fit {
	switch {
	case f.method != "" && t.method != f.method, !strings.Contains(strings.ToLower(t.client), f.client), !strings.Contains(strings.ToLower(t.name), f.name):
		return fitsNot
	case f.server == "" || t.server == f.server:
		return fits
	case t.server == "":
		return fitsCalls
	}
	return fitsNot
}

// shows reports whether a message is shown, by the index. It compares texts once for each number of
// asking. The caller holds r.mu.
func (r *Ring) shows(f *filter, e *entry, asking uint64) bool {
	switch {
	case f.pid != 0 && e.pid != f.pid, f.call != 0 && e.call != f.call, f.kinds != 0 && f.kinds>>e.kind&1 == 0, f.noHeaders && e.headers, f.noPing && e.ping:
		return false
	case kinds[e.kind] == traffic.Dropped:
		return true // the missing messages may have matched
	case f.errors && !e.failed:
		return false
	}
	c := &r.table.all[e.texts]
	if c.asking != asking {
		c.asking, c.fits = asking, f.fit(&c.texts)
	}
	if c.fits == fitsCalls && e.call > 0 {
		of := r.calls[callOfProcess(e.pid, e.call)]
		return of != nil && r.leads(of, f.server)
	}
	return c.fits == fits
}

// contains reports whether a record has the text. It uses scratch as a buffer.
func (f *filter) contains(record []byte, scratch *[]byte) bool {
	*scratch = lower((*scratch)[:0], record)
	return slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.Contains(*scratch, text) })
}

// lower appends a text to dst, with A to Z in lower case.
func lower(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[at:] {
		if 'A' <= c && c <= 'Z' {
			dst[at+i] = c + ('a' - 'A')
		}
	}
	return dst
}

const (
	figuresTime = 10 * time.Minute // the time that figures cover
	maxTimes    = 1_000            // of one server for the median and the 95th percentile, the newest ones
)

// A figures counts the recent calls, prompts and reads of one server.
type figures struct {
	PID    int           `json:"pid"`
	Server string        `json:"server"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	P50    time.Duration `json:"p50"` // in nanoseconds
	P95    time.Duration `json:"p95"`
	times  []time.Duration
}

// answers reports whether a message of a kind ends a request.
func answers(kind string) bool {
	return kind == traffic.Response || kind == traffic.Error || kind == traffic.Failure
}

// figuresOf counts the responses of servers since then.
func (r *Ring) figuresOf(since time.Time) []*figures {
	type key struct {
		pid    int32
		server string
	}
	all := map[key]*figures{}
	var order []*figures
	methods := map[textsID]bool{}
	r.mu.Lock()
	for n := r.index.Next; n > r.index.First; {
		n--
		e, t := r.of(n)
		if e.time < since.UnixNano() {
			break
		}
		if hops[e.hop] != traffic.Server || !e.toClient || !answers(kinds[e.kind]) {
			continue
		}
		is, known := methods[e.texts]
		if !known {
			is = revision.MethodNamed(t.method).Asks
			methods[e.texts] = is
		}
		if !is {
			continue
		}
		k := key{e.pid, t.server}
		f := all[k]
		if f == nil {
			f = &figures{PID: int(e.pid), Server: t.server}
			all[k] = f
			order = append(order, f)
		}
		if f.Calls++; e.failed {
			f.Errors++
		}
		if len(f.times) < maxTimes {
			f.times = append(f.times, time.Duration(e.took))
		}
	}
	r.mu.Unlock()
	for _, f := range order {
		slices.Sort(f.times)
		f.P50, f.P95 = f.times[len(f.times)/2], f.times[len(f.times)*95/100]
	}
	return order
}

func (r *Ring) serveFigures(*http.Request) (any, error) {
	return struct {
		Minutes float64    `json:"minutes"`
		Servers []*figures `json:"servers"`
	}{figuresTime.Minutes(), append([]*figures{}, r.figuresOf(time.Now().Add(-figuresTime))...)}, nil
}

const (
	batchPause  = 50 * time.Millisecond // between two batches
	maxBatch    = 500                   // messages of a batch
	maxBehind   = 5_000                 // messages; a reader further behind misses some
	maxStreams  = 16                    // at the same time
	retryMillis = 1_000
)

// A batch is one event of the stream.
type batch struct {
	position         // has items with the oldest first
	Skipped  uint64  `json:"skipped,omitempty"`
	Cleared  bool    `json:"cleared,omitempty"` // is set if all before First were removed
	Fault    string  `json:"fault,omitempty"`
	Ended    []int32 `json:"ended,omitzero"` // lists processes; nil if they did not change
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

// A stream is one reader of new messages. It reads the ring, which does not wait for it, so it
// misses messages that are no longer kept.
type stream struct {
	ring    *Ring
	filter  *filter
	at      uint64 // the newest message that was sent
	cleared uint64 // of the ring at the last look
	ends    uint64 // of the ring, too
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
	if resumes && after < s.ring.cleared { // it has not been sent yet
		s.cleared = after
	}
}

// next appends a batch of new messages to text.
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
