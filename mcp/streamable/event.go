package streamable

import (
	"context"
	"strconv"
	"strings"
)

// An EventStore stores events that legacy clients may not have received, for clients that resume
// with Last-Event-ID. Its methods must be safe for concurrent use. For one stream, only one call
// runs at a time.
type EventStore interface {
	// Append stores an event of a session. It must copy e.Data. It may drop older events to make
	// room. The context identifies the caller for a [MemoryEvents], if Append calls one. An error
	// means that the event was not stored; it is still sent if the stream has a connection.
	Append(ctx context.Context, session string, e Event) error
	// After returns the stored events of a stream whose numbers are higher than number, in order.
	// The caller must not change them.
	After(ctx context.Context, session string, stream, number uint64) ([]Event, error)
	// Forget drops all events of a session that has ended.
	Forget(session string)
}

// An Event is one message on a stream of a session.
type Event struct {
	Stream uint64 // unique in the session
	Number uint64 // number of the event in its stream, from 1, without gaps
	Data   []byte // the message
}

// The id of an event consists of a letter for the HTTP method that began the stream, the number of
// the stream, and the number of the event, such as "p2-17". The position before the first event has
// the number 0.
const (
	idOfPOST = 'p' // POST
	idOfGET  = 'g' // GET
)

func appendEventID(dst []byte, fromGET bool, stream, number uint64) []byte {
	letter := byte(idOfPOST)
	if fromGET {
		letter = idOfGET
	}
	dst = strconv.AppendUint(append(dst, letter), stream, 36)
	return strconv.AppendUint(append(dst, '-'), number, 36)
}

func parseEventID(id string) (fromGET bool, stream, number uint64, ok bool) {
	first, second, found := strings.Cut(id, "-")
	if !found || first == "" || first[0] != idOfPOST && first[0] != idOfGET {
		return false, 0, 0, false
	}
	stream, err := strconv.ParseUint(first[1:], 36, 64)
	if err != nil {
		return false, 0, 0, false
	}
	number, err = strconv.ParseUint(second, 36, 64)
	return first[0] == idOfGET, stream, number, err == nil
}
