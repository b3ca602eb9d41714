package inspect

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	maxEvents     = 5_000            // of a connection that can be read again
	maxEventBytes = 16 << 20         // of all of a connection's events
	maxOneEvent   = 1 << 20          // bytes of a message that an event has whole
	maxFollowers  = 8                // streams of one connection's events
	followTime    = 10 * time.Second // for a page to read what is sent
	silentTime    = 15 * time.Second // between two comments on a stream
)

// An event is something that happened on a connection.
type event struct {
	id   uint64
	name string
	data []byte
}

// A journal holds the last events of a connection. It is safe for concurrent use.
type journal struct {
	mu        sync.Mutex
	events    []event
	bytes     int
	last      uint64
	followers int
	changed   chan struct{} // closed with the next event
	ended     bool
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

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
	j.last++
	j.events = append(j.events, event{j.last, name, body})
	j.bytes += len(body)
	old := 0
	for len(j.events)-old > maxEvents || j.bytes > maxEventBytes && len(j.events)-old > 1 {
		j.bytes -= len(j.events[old].data)
		old++
	}
	j.events = slices.Delete(j.events, 0, old)
	j.wake()
}

// lastID is the id of the last event.
func (j *journal) lastID() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// wake has those who follow look; the caller holds mu.
func (j *journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// end says that nothing more comes.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended {
		j.ended = true
		j.wake()
	}
}

// after returns the events behind one, how many between are gone, and what is closed when there are more; ended says
// that there will be none.
func (j *journal) after(id uint64) (events []event, gone uint64, more <-chan struct{}, ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id > j.last {
		id = 0 // of another process
	}
	first := j.last + 1
	if len(j.events) > 0 {
		first = j.events[0].id
	}
	if id+1 < first {
		gone = first - id - 1
	}
	at := max(0, int(id)-int(first)+1)
	return slices.Clone(j.events[min(at, len(j.events)):]), gone, j.changed, j.ended
}

// join counts one who follows; false where there are too many.
func (j *journal) join() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.followers >= maxFollowers {
		return false
	}
	j.followers++
	return true
}

func (j *journal) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.followers--
}

// stream serves the events of a connection.
func (c *connection) stream(w http.ResponseWriter, r *http.Request) error {
	if !c.journal.join() {
		return refuse(http.StatusTooManyRequests, "%d pages follow this connection already", maxFollowers)
	}
	defer c.journal.leave()
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("after")
	}
	last, _ := strconv.ParseUint(from, 10, 64) // else from the beginning
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(data []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(followTime)) // where it cannot be set, the server's own holds
		if _, err := w.Write(data); err != nil {
			return err
		}
		return control.Flush()
	}
	silent := time.NewTicker(silentTime)
	defer silent.Stop()
	text := []byte(": begun\n\n")
	for {
		events, gone, more, ended := c.journal.after(last)
		if gone > 0 {
			missed, _ := json.Marshal(map[string]uint64{"missed": gone})
			text = eventstream.AppendEvent(text, eventstream.Event{Name: "gap", Data: missed})
		}
		for _, e := range events {
			text = eventstream.AppendEvent(text, eventstream.Event{ID: strconv.FormatUint(e.id, 10), HasID: true, Name: e.name, Data: e.data})
			last = e.id
		}
		if len(text) > 0 && send(text) != nil || ended {
			return nil
		}
		if text = text[:0]; len(events) > 0 {
			continue
		}
		select {
		case <-more:
		case <-silent.C:
			text = append(text, ": still here\n\n"...)
		case <-r.Context().Done():
			return nil
		}
	}
}
