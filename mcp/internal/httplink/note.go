package httplink

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/mcp"
)

const (
	maxNotes = 64      // different notes that are stored for repetitions
	maxNote  = 4 << 10 // bytes of one note
)

// Exchanges makes the notes about the HTTP exchanges of one endpoint. Most exchanges have the same
// headers as an earlier one. They share its note, which is made once. The zero value is ready to
// use. Note is safe for concurrent use.
type Exchanges struct {
	begin sync.Once
	seed  maphash.Seed
	last  atomic.Pointer[common] // newest note: a comparison with it costs half as much as a checksum

	mu    sync.Mutex
	notes map[uint64]*common // by checksum of the content; nil after the first occurrence
}

// A common is a note that several exchanges share.
type common struct {
	note   json.RawMessage // nil if it is too long
	line   line
	values [2][]value // of the headers of the request and of the response
}

// A value is one value of a header.
type value struct {
	name, shown string
	place, of   int
	plain       bool // shown in full
}

// Note passes a note to n. It contains the headers of a request, and the status and headers of the
// response. If there is no response, status is 0.
func (x *Exchanges) Note(n mcp.NoteObserver, r *http.Request, status int, header http.Header) {
	one := exchange{r, status, header}
	if c := x.again(&one); c != nil && c.note != nil {
		n.Note(note.HTTP, c.note)
		return
	}
	n.Note(note.HTTP, &exchange{r, status, header})
}

// A watch records the round trips of one observed request. A nil watch records nothing.
type watch struct {
	of       *Exchanges
	observer mcp.NoteObserver
	trips    atomic.Int32 // number of recorded round trips
}

type watchKey struct{}

// watching returns the watch for the request with this context, or nil if no observer wants notes.
// In the returned context, [Noted] finds the watch.
func (x *Exchanges) watching(ctx context.Context) (context.Context, *watch) {
	n := mcp.NoteObserverOf(ctx, note.HTTP)
	if n == nil {
		return ctx, nil
	}
	w := &watch{of: x, observer: n}
	return context.WithValue(ctx, watchKey{}, w), w
}

// trip sends a request with next and records it, unless a RoundTripper inside next has recorded it.
func (w *watch) trip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if w == nil {
		return next.RoundTrip(r)
	}
	before := w.trips.Load()
	resp, err := next.RoundTrip(r)
	switch {
	case w.trips.Load() > before:
		return resp, err
	case err != nil:
		w.of.Note(w.observer, r, 0, nil)
	default:
		w.of.Note(w.observer, r, resp.StatusCode, resp.Header)
	}
	w.trips.Add(1)
	return resp, err
}

// Noted wraps a RoundTripper that another one uses, which may repeat requests or change headers.
// The observer of a request gets a note of each round trip.
func Noted(next http.RoundTripper) http.RoundTripper { return watchedTransport{next} }

type watchedTransport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (n watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, _ := r.Context().Value(watchKey{}).(*watch)
	return w.trip(n.RoundTripper, r)
}

// CloseIdleConnections closes the idle connections of the wrapped RoundTripper; see
// [http.Client.CloseIdleConnections].
func (n watchedTransport) CloseIdleConnections() {
	(&http.Client{Transport: n.RoundTripper}).CloseIdleConnections()
}

// again returns the note of an equal earlier exchange, or nil. Peers choose the length of headers,
// so x.mu is not held while they are read or written.
func (x *Exchanges) again(one *exchange) *common {
	if last := x.last.Load(); last != nil && last.isOf(one) {
		return last
	}
	x.begin.Do(func() { x.seed, x.notes = maphash.MakeSeed(), map[uint64]*common{} })
	sum := one.sum(x.seed)
	c, seen := x.commonOf(sum)
	if !seen {
		return nil
	}
	if c == nil {
		c = newCommon(one)
		x.mu.Lock()
		if _, still := x.notes[sum]; still {
			x.notes[sum] = c
		}
		x.mu.Unlock()
	}
	if c.note != nil {
		x.last.Store(c)
	}
	return c
}

func (x *Exchanges) commonOf(sum uint64) (c *common, seen bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c, seen = x.notes[sum]; seen {
		return c, true
	}
	if len(x.notes) >= maxNotes {
		clear(x.notes)
	}
	x.notes[sum] = nil
	return nil, false
}

func newCommon(one *exchange) *common {
	c := &common{note: one.appendJSON(nil), line: one.line()}
	texts := [...]*string{&c.line.method, &c.line.scheme, &c.line.host, &c.line.path, &c.line.asked}
	size := len(c.note) // a long address is shortened in the note
	for _, text := range texts {
		size += len(*text)
	}
	if size > maxNote {
		return new(common)
	}
	for _, text := range texts {
		*text = strings.Clone(*text) // the copy does not keep the request in memory
	}
	for i, header := range one.headers() {
		for name, values := range header {
			for k, text := range values {
				if name != sizeHeader {
					shown := shownValue(name, text)
					c.values[i] = append(c.values[i], value{name, strings.Clone(shown), k, len(values), shown == text})
				}
			}
		}
	}
	return c
}

// isOf reports whether the note belongs to an exchange.
func (c *common) isOf(one *exchange) bool {
	if c.line != one.line() {
		return false
	}
	for i, header := range one.headers() {
		names := 0 // number of compared names
		for k := range c.values[i] {
			v := &c.values[i][k]
			values := header[v.name]
			if len(values) != v.of {
				return false
			}
			if text := values[v.place]; v.plain && text != v.shown || !v.plain && shownValue(v.name, text) != v.shown {
				return false
			}
			if v.place == 0 {
				names++
			}
		}
		if _, has := header[sizeHeader]; has {
			names++
		}
		if names != len(header) {
			return false
		}
	}
	return true
}

type exchange struct {
	request *http.Request
	status  int
	header  http.Header
}

// sum returns a checksum, which is equal for exchanges with the same note.
func (x *exchange) sum(seed maphash.Seed) uint64 {
	all := maphash.Comparable(seed, x.line())
	for i, header := range x.headers() {
		for name, values := range header {
			for k, value := range values {
				if name != sizeHeader {
					all += maphash.Comparable(seed, part{name, shownValue(name, value), 2*k + i})
				}
			}
		}
	}
	return all
}

func (x *exchange) headers() [2]http.Header { return [...]http.Header{x.request.Header, x.header} }

func (x *exchange) line() line {
	u := x.request.URL
	return line{x.request.Method, u.Scheme, u.Host, u.Path, x.request.Host, x.request.TLS != nil, x.status}
}

// A line contains the parts of a note that are not headers.
type line struct {
	method, scheme, host, path, asked string
	tls                               bool
	status                            int
}

// A part is the value of one header in a note.
type part struct {
	name, value string
	place       int
}

// AppendJSON appends the note.
func (x *exchange) AppendJSON(dst []byte) ([]byte, error) { return x.appendJSON(dst), nil }

func (x *exchange) appendJSON(dst []byte) []byte {
	u := *x.request.URL
	if u.Host == "" { // in a server
		if u.Scheme, u.Host = "http", x.request.Host; x.request.TLS != nil {
			u.Scheme = "https"
		}
	}
	w := jsonrpc.NewObject(dst)
	w.String("method", x.request.Method)
	w.String("url", nameOf(&u))
	writeShown(&w, "requestHeaders", x.request.Header)
	if x.status != 0 {
		w.Int("status", int64(x.status))
		writeShown(&w, "responseHeaders", x.header)
	}
	return w.Bytes()
}

// MarshalJSON implements [json.Marshaler].
func (x *exchange) MarshalJSON() ([]byte, error) { return x.AppendJSON(nil) }

// sizeHeader is omitted from notes. It differs between exchanges and contains only the size of the
// message.
const sizeHeader = "Content-Length"

// writeShown writes headers without possible secrets. It writes only the name of a header that is
// not known to be harmless.
func writeShown(w *jsonrpc.Writer, member string, header http.Header) {
	var few [24]string
	names := few[:0]
	for name := range header {
		if name != sizeHeader {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	w.Object(member)
	for _, name := range names {
		w.Array(name)
		for _, value := range header[name] {
			w.StringElement(shownValue(name, value))
		}
		w.End()
	}
	w.End()
}

func shownValue(name, value string) string {
	if http.CanonicalHeaderKey(name) != "Mcp-Session-Id" {
		return redact.Header(name, value)
	}
	const enough = 6 // the whole id would give access to the session; its beginning identifies it
	if len(value) < 4*enough {
		return redact.Hidden
	}
	return value[:enough] + redact.Cut
}
