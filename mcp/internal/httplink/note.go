package httplink

import (
	"encoding/json"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/mcp"
)

// noteKind is the kind of the notes that have headers.
const noteKind = "http"

const (
	maxNotes = 64      // different ones that may come again
	maxNote  = 4 << 10 // bytes of one of them
)

// Exchanges tell who watches about the exchanges of one end. The headers of most are those of an exchange before: they have one
// note in common, which is made once. The zero value is ready to use, and its method is safe for concurrent use.
type Exchanges struct {
	begin sync.Once
	seed  maphash.Seed

	mu    sync.Mutex
	notes map[uint64]json.RawMessage // by what is in them; nil where it was seen once
}

// tooLong is in the place of a note that many exchanges cannot have.
var tooLong = json.RawMessage{}

// Note tells who watches a request which headers carried it and, where a response began, with which status and headers
// that did; without one, status is 0.
func (x *Exchanges) Note(n mcp.Noter, r *http.Request, status int, header http.Header) {
	one := exchange{r, status, header}
	if note := x.again(&one); len(note) > 0 {
		n.Note(noteKind, note)
		return
	}
	n.Note(noteKind, &one)
}

// again returns the note of an exchange that is like one before, or nil. Peers choose how long headers are: nobody waits while they are
// read or written.
func (x *Exchanges) again(one *exchange) json.RawMessage {
	x.begin.Do(func() { x.seed, x.notes = maphash.MakeSeed(), map[uint64]json.RawMessage{} })
	sum := one.sum(x.seed)
	note, seen := x.noteOf(sum)
	if !seen || note != nil {
		return note
	}
	if note = one.appendJSON(nil); len(note) > maxNote {
		note = tooLong
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, still := x.notes[sum]; still {
		x.notes[sum] = note
	}
	return note
}

func (x *Exchanges) noteOf(sum uint64) (note json.RawMessage, seen bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if note, seen = x.notes[sum]; seen {
		return note, true
	}
	if len(x.notes) >= maxNotes {
		clear(x.notes)
	}
	x.notes[sum] = nil
	return nil, false
}

type exchange struct {
	request *http.Request
	status  int
	header  http.Header
}

// sum is the same for exchanges that have the same note.
func (x *exchange) sum(seed maphash.Seed) uint64 {
	u := x.request.URL
	all := maphash.Comparable(seed, line{x.request.Method, u.Scheme, u.Host, u.Path, x.request.Host, x.request.TLS != nil, x.status})
	for i, header := range [...]http.Header{x.request.Header, x.header} {
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

// A line is what a note has that is no header.
type line struct {
	method, scheme, host, path, asked string
	tls                               bool
	status                            int
}

// A part of a note is a value of a header.
type part struct {
	name, value string
	place       int
}

// AppendJSON appends the note.
func (x *exchange) AppendJSON(dst []byte) ([]byte, error) { return x.appendJSON(dst), nil }

func (x *exchange) appendJSON(dst []byte) []byte {
	u := *x.request.URL
	if u.Host == "" { // as a server sees it
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

// sizeHeader differs from one exchange to the next, and says no more than the size of the message.
const sizeHeader = "Content-Length"

// writeShown writes headers without what could be a secret: of those that are not known to have none, the names only.
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
	switch name {
	case "Mcp-Session-Id": // who has all of it is in the session; its beginning tells it from others
		const enough = 6
		if len(value) < 4*enough {
			return secret.Hidden
		}
		return value[:enough] + secret.Cut
	case "Mcp-Name":
		return secret.URI(value)
	case "Accept", "Accept-Encoding", "Accept-Language", "Allow", "Cache-Control", "Connection", "Content-Encoding", "Content-Type", "Date",
		"Host", "Last-Event-Id", "Mcp-Method", "Mcp-Protocol-Version", "Origin", "Retry-After", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
		"Server", "Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "Via", "X-Accel-Buffering":
		return value // texts that look like secrets are hidden later, as everywhere
	}
	if canonical := http.CanonicalHeaderKey(name); canonical != name {
		return shownValue(canonical, value)
	}
	if argument, is := strings.CutPrefix(name, "Mcp-Param-"); is && !secret.Named(argument) {
		return value
	}
	return secret.Hidden
}
