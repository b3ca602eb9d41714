package streamable

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
)

const (
	defaultRetry = time.Second            // pause before a stream is opened again, unless the server sets it
	minRetry     = 10 * time.Millisecond  // minimum of a pause that the server sets
	maxRetry     = 5 * time.Minute        // maximum of a pause that the server sets
	firstBackoff = 100 * time.Millisecond // minimum pause after a failure
	maxBackoff   = 24 * time.Second       // maximum pause after failures, plus up to a quarter at random

	maxResponsePause = time.Second // maximum pause before a response to the server is sent again

	maxEventID = 1 << 10 // maximum bytes; a longer id cannot be used to resume
	maxSeen    = 512     // maximum number of remembered ids
)

// clientEvents holds the state of a stream over all of its connections.
type clientEvents struct {
	lastID   string        // id of the event to resume after; empty if resuming is impossible
	retry    time.Duration // pause that the server set
	failures int           // attempts since the last event
	resumed  bool          // set unless this is the first connection
	seen     recent
}

func newClientEvents() clientEvents { return clientEvents{retry: defaultRetry} }

// onlyName is the only name that an event with a message may have.
const onlyName = "message"

// An eventUse holds the functions that handle events.
type eventUse struct {
	// take handles an event with data. The flag again reports that an event with the same id came
	// before. If take returns a message or an error, the reading ends.
	take func(e eventstream.Event, again bool) (*jsonrpc.Message, error)
	// whole and unended handle events without a blank line; see [eventstream.Reader.AcceptUnended].
	whole   func(data []byte) bool
	unended func()
}

// read reads events until take ends the reading or the stream ends.
func (e *clientEvents) read(body io.Reader, maxMessage int, use eventUse) (*jsonrpc.Message, error) {
	reader := eventstream.NewReader(body, maxMessage)
	reader.AcceptUnended(use.whole, use.unended)
	resumed := e.resumed
	e.resumed = true
	e.failures++ // until an event arrives
	for {
		event, err := reader.Next()
		if errors.Is(err, eventstream.ErrTooLarge) || httplink.IsCoding(err) {
			return nil, finalError{err}
		}
		if err != nil {
			return nil, err
		}
		e.failures = 0
		again := e.note(event, resumed)
		if len(event.Data) == 0 {
			continue // the event only sets the position to resume from
		}
		if m, err := use.take(event, again); m != nil || err != nil {
			return m, err
		}
	}
}

// note stores the fields of an event that are needed to resume. It reports whether the same event
// came before, on another connection.
func (e *clientEvents) note(event eventstream.Event, resumed bool) (again bool) {
	if event.HasRetry {
		e.retry = min(max(event.Retry, minRetry), maxRetry)
	}
	if !event.HasID {
		return false
	}
	e.lastID = ""
	if !usableID(event.ID) {
		return false
	}
	e.lastID = event.ID
	return e.seen.add(event.ID) && resumed
}

// usableID reports whether the id of an event can be sent in a header.
func usableID(id string) bool {
	for _, b := range []byte(id) {
		if b < ' ' || b == 0x7f {
			return false
		}
	}
	return id != "" && len(id) <= maxEventID
}

// wait waits before the next connection. After a connection with events, it waits for the time that
// the server set. After each failure, it waits longer.
func (e *clientEvents) wait(ctx context.Context) error { return idle.Wait(ctx, e.pause()) }

func (e *clientEvents) pause() time.Duration {
	if e.failures == 0 {
		return e.retry
	}
	pause := max(e.retry, firstBackoff) << min(e.failures, 16)
	pause = max(min(pause, maxBackoff), e.retry)
	return pause + rand.N(pause/4)
}

// A recent remembers the ids of the last events.
type recent struct {
	known map[string]struct{}
	order []string // a ring buffer
	next  int
}

// add adds an id, and reports whether it was already present.
func (r *recent) add(id string) bool {
	if _, ok := r.known[id]; ok {
		return true
	}
	if r.known == nil {
		r.known = make(map[string]struct{})
	}
	if len(r.order) < maxSeen {
		r.order = append(r.order, id)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % maxSeen
	}
	r.known[id] = struct{}{}
	return false
}
