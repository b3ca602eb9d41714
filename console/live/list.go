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
	maxLooked     = 10_000    // messages to look at before the lock is released, so that writers need not wait long
	maxSearched   = 32 << 20  // bytes of messages to search for one page
	maxCandidates = 2_000     // messages to search at a time
	maxReadAhead  = 256 << 10 // bytes of the file to read at once
)

// A summary describes a message in a list.
type summary struct {
	Seq      uint64    `json:"seq"`
	Time     time.Time `json:"time"`
	PID      int       `json:"pid"`
	Kind     string    `json:"kind"`
	Hop      string    `json:"hop,omitempty"`
	ToServer bool      `json:"toServer,omitempty"`
	Server   string    `json:"server,omitempty"`
	// Client is the client of the call, also for messages between Junction and a server.
	Client string        `json:"client,omitempty"`
	Method string        `json:"method,omitempty"`
	Name   string        `json:"name,omitempty"`
	Note   string        `json:"note,omitempty"`
	Effect string        `json:"effect,omitempty"` // effect of a rule, in a note about a decision
	Call   uint64        `json:"call,omitempty"`
	Took   time.Duration `json:"took,omitempty"` // in nanoseconds
	Size   int           `json:"size,omitempty"`
	Count  int           `json:"count,omitempty"`
	Error  bool          `json:"error,omitempty"`
	Legacy bool          `json:"legacy,omitempty"` // set if a legacy server rejected server/discover, which is not an error
	// Row is the position among the listed messages. Notes about headers and pings are not listed,
	// and have no row.
	Row uint64 `json:"row,omitempty"`
}

// A position is the state of the ring when a page or a batch was made.
type position struct {
	// First and Last are the numbers of the oldest and the newest stored message. If First is
	// larger, there are none.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// FirstRow and LastRow are the rows of the oldest and the newest listed message. If FirstRow is
	// larger, there are none.
	FirstRow uint64    `json:"firstRow"`
	LastRow  uint64    `json:"lastRow"`
	Items    []summary `json:"items"`
}

// A page is one page of the list.
type page struct {
	position
	// Next is the number at which the next page starts; that page excludes the message of this
	// number. More reports whether there are further messages.
	Next  uint64 `json:"next"`
	More  bool   `json:"more"`
	Fault string `json:"fault,omitempty"`
	// Ended lists the ids of the processes that have ended.
	Ended []int32 `json:"ended"`
	ends  uint64
}

// A found is a message that was found in the index.
type found struct {
	summary
	entry entry
}

// found returns message n if it is still stored. The caller holds r.mu.
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

// list returns a page of at most most messages. With after, it has the messages after number from,
// in ascending order; otherwise, the messages before it, in descending order. From 0 means from the
// end of the ring.
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
			if enough || len(p.Items) == most { // the page ends before this message
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

// look finds the next messages of a page in the index, and sets p.Next to the number where the next
// look starts.
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
	r.looks++
	n, step := from-1, ^uint64(0) // backwards
	if after {
		n, step = max(from+1, first), 1
	} else if from == 0 || from > next {
		n = next - 1
	}
	for left := maxLooked; left > 0 && len(looked) < most && n >= first && n < next; left, n = left-1, n+step {
		if r.shows(f, r.index.At(n), r.looks) {
			one, _ := r.found(n)
			looked = append(looked, one)
		}
	}
	p.More = n >= first && n < next
	p.Next = n - step
	return looked
}

// firstRow returns the row of the oldest listed message. The caller holds r.mu.
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

// numberOf returns the number of the message with a row. If there is none, it returns the number
// after the last message.
func (r *Ring) numberOf(row uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.index.First
	return first + uint64(sort.Search(int(r.index.Next-first), func(i int) bool { return r.index.At(first+uint64(i)).row >= row }))
}

// A search finds the messages that contain one of the texts of a filter.
type search struct {
	ring     *Ring
	filter   *filter
	block    []byte // part of the file that has the next messages
	from     int64  // offset of block in the file
	first    uint64 // number of the oldest message that was still stored after reading block
	searched int    // number of bytes searched so far
	scratch  []byte
}

// finds reports whether looked[0] contains one of the texts.
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

// read reads the part of the file that contains looked[0] and as many of the next messages as are
// close to it.
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

// pingMethod is the method of messages that only check whether the peer responds.
const pingMethod = "ping"

const maxFilterText = 1_000 // maximum bytes of the text to find

// A parameters has the parameters of a query that select messages. The tags are those of
// [fields.Params].
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
	kinds                        uint16   // bit n is set if kind n is shown; 0 shows all kinds
	texts                        [][]byte // texts in lower case, one of which a message must contain
	errors, noHeaders, noPing    bool
	pid                          int32
	call                         uint64
}

// filterOf parses the filter in a query.
func filterOf(q url.Values) (f filter, err error) {
	p := parameters{Ping: true, Headers: true}
	if err := filters.Query(&p, q); err != nil {
		return f, err
	}
	f = filter{client: strings.ToLower(beginning(p.Client)), server: beginning(p.Server), method: beginning(p.Method), name: strings.ToLower(beginning(p.Name)), // cut to the same length as the texts in the index
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
		if quoted := jsonrpc.AppendString(nil, string(plain)); len(quoted) > len(plain)+2 { // the text as it is escaped in a JSON string
			f.texts = append(f.texts, quoted[1:len(quoted)-1])
		}
	}
	return f, nil
}

// parseQuery parses the filter and the named numbers in a query. A missing number is 0.
func parseQuery(q url.Values, names ...string) (f filter, numbers map[string]uint64, err error) {
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

// A fit tells whether a filter shows messages with certain texts.
type fit int8

const (
	fitsNot   fit = iota
	fitsCalls     // shows only messages of calls that reach the server
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

// shows reports whether a filter shows a message, judged by the index. It compares the texts that
// several messages share once for each value of asking. The caller holds r.mu.
func (r *Ring) shows(f *filter, e *entry, asking uint64) bool {
	switch {
	case f.pid != 0 && e.pid != f.pid, f.call != 0 && e.call != f.call, f.kinds != 0 && f.kinds>>e.kind&1 == 0, f.noHeaders && e.headers, f.noPing && e.ping:
		return false
	case kinds[e.kind] == traffic.Dropped:
		return true // the messages that this one reports as dropped may have matched
	case f.errors && !e.failed:
		return false
	}
	c := &r.table.all[e.texts]
	if c.look != asking {
		c.look, c.fits = asking, f.fit(&c.texts)
	}
	if c.fits == fitsCalls && e.call > 0 {
		of := r.calls[callOfProcess(e.pid, e.call)]
		return of != nil && r.leads(of, f.server)
	}
	return c.fits == fits
}

// contains reports whether a record contains one of the texts. It uses scratch as a buffer.
func (f *filter) contains(record []byte, scratch *[]byte) bool {
	*scratch = lower((*scratch)[:0], record)
	return slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.Contains(*scratch, text) })
}

// lower appends a text to dst, with the letters A to Z in lower case.
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
	figuresTime = 10 * time.Minute // period that the figures cover
	maxTimes    = 1_000            // maximum number of durations of a server, the newest ones, for the percentiles
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

// endsRequest reports whether a message of this kind ends a request.
func endsRequest(kind string) bool {
	return kind == traffic.Response || kind == traffic.Error || kind == traffic.Failure
}

// figuresOf counts the responses of servers since a time.
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
		if hops[e.hop] != traffic.Server || !e.toClient || !endsRequest(kinds[e.kind]) {
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
	batchPause  = 50 * time.Millisecond // minimum time between two batches
	maxBatch    = 500                   // maximum number of messages in a batch
	maxBehind   = 5_000                 // maximum number of messages that a reader may be behind before it misses some
	maxStreams  = 16                    // maximum number of concurrent streams
	retryMillis = 1_000
)

// A batch is one event of the stream.
type batch struct {
	position         // has the items in ascending order
	Skipped  uint64  `json:"skipped,omitempty"`
	Cleared  bool    `json:"cleared,omitempty"` // set if all messages before First were removed
	Fault    string  `json:"fault,omitempty"`
	Ended    []int32 `json:"ended,omitzero"` // ids of ended processes; nil if unchanged
}

func (r *Ring) serveStream(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, asked, err := parseQuery(q, "after")
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

// A stream is a reader of new messages. Writers do not wait for it, so it misses messages that the
// ring drops before it reads them.
type stream struct {
	ring    *Ring
	filter  *filter
	at      uint64 // number of the newest message that was sent
	cleared uint64 // Ring.cleared when last read
	ends    uint64 // Ring.ends when last read
	fault   string
}

// begin sets the message after which the stream begins.
func (s *stream) begin(after uint64, resumes bool) {
	s.ring.mu.Lock()
	defer s.ring.mu.Unlock()
	s.cleared = s.ring.cleared
	if s.at = s.ring.index.Next - 1; resumes && after < s.at {
		s.at = max(after, s.cleared)
	}
	if resumes && after < s.ring.cleared { // the reader does not know yet that the ring was cleared
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
