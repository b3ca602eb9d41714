package inspect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	maxEvents     = 5_000    // of a connection that can be read again
	maxEventBytes = 16 << 20 // of all of a connection's events
	maxOneEvent   = 1 << 20  // bytes of a message that an event has whole
	maxFollowers  = 8        // streams of one connection's events
)

// An event is something that happened on a connection.
type event struct {
	id   uint64
	name string
	data []byte
}

// A journal holds the last events of a connection. It is safe for concurrent use.
type journal struct {
	followers follow.Readers

	mu     sync.Mutex
	events follow.Ring[event]
	bytes  int
	ended  bool
}

func newJournal() *journal { return &journal{events: follow.NewRing[event](maxEvents)} }

// add puts an event at the end; what encodes to an object, to which the time is added.
func (j *journal) add(name string, what any) {
	body, err := json.Marshal(what)
	if err != nil {
		return // of our own types, and of JSON that was checked
	}
	now, _ := json.Marshal(time.Now().UTC())
	body = jsonrpc.With(body, "time", now)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	j.bytes += len(body)
	for j.events.Full() || j.bytes > maxEventBytes && j.events.First < j.events.Next {
		j.bytes -= len(j.events.At(j.events.First).data)
		j.events.Drop()
	}
	j.events.Add(event{j.events.Next, name, body})
	j.events.Wake()
}

// lastID is the id of the last event.
func (j *journal) lastID() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.events.Next - 1
}

// end says that nothing more comes.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	j.events.Wake()
}

// after returns the events behind one, how many between are gone, and what is closed when there are more; ended says
// that there will be none.
func (j *journal) after(id uint64) (events []event, gone uint64, more <-chan struct{}, ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id >= j.events.Next {
		id = 0 // of another process
	}
	first := max(id+1, j.events.First)
	for n := first; n < j.events.Next; n++ {
		events = append(events, *j.events.At(n))
	}
	return events, first - id - 1, j.events.Changed(), j.ended
}

// A follower reads the events of a journal. It copies a part of them at a time, so that many slow ones hold little.
type follower struct {
	*journal
	last uint64 // the event that it has, or of which it has the beginning
	rest []byte // what it does not have of that
}

// next appends a part of what is new to text.
func (f *follower) next(text []byte) (_ []byte, more <-chan struct{}, over bool) {
	if len(f.rest) > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last < f.events.First {
			return text, nil, true // the event would be held for this reader alone, who comes back and gets a gap
		}
		return f.part(text), nil, false
	}
	events, gone, more, over := f.after(f.last)
	if gone > 0 {
		missed, _ := json.Marshal(map[string]uint64{"missed": gone})
		text = eventstream.AppendEvent(text, eventstream.Event{Name: "gap", Data: missed})
		if len(events) > 0 {
			f.last = events[0].id - 1 // the gap is said once, also where the event behind it comes apart
		}
	}
	for _, e := range events {
		if len(text) > 0 && len(text)+len(e.data) > follow.MaxPart {
			return text, nil, false
		}
		one := eventstream.Event{ID: strconv.FormatUint(e.id, 10), HasID: true, Name: e.name}
		f.last = e.id
		if len(e.data) > follow.MaxPart {
			text = bytes.TrimSuffix(eventstream.AppendEvent(text, one), []byte("\n"))
			f.rest = e.data // JSON in one line
			return f.part(append(text, "data: "...)), nil, false
		}
		one.Data = e.data
		text = eventstream.AppendEvent(text, one)
	}
	return text, more, over
}

// part appends a part of the rest of an event.
func (f *follower) part(text []byte) []byte {
	n := min(len(f.rest), follow.MaxPart)
	text = append(text, f.rest[:n]...)
	if f.rest = f.rest[n:]; len(f.rest) == 0 {
		text = append(text, "\n\n"...)
	}
	return text
}

// stream serves the events of a connection.
func (c *connection) stream(w http.ResponseWriter, r *http.Request) error {
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("after")
	}
	last, _ := strconv.ParseUint(from, 10, 64) // else from the beginning
	f := &follower{journal: c.journal, last: last}
	if !c.journal.followers.Serve(w, r, maxFollowers, follow.Stream{Begin: ": begun\n\n", Next: f.next}) {
		return reply.Refuse(http.StatusTooManyRequests, "%d pages follow this connection already", maxFollowers)
	}
	return nil
}
