package streamable

import (
	"context"
	"strconv"
	"strings"
)

// An EventStore keeps what legacy clients may not have received, for those that
// come back with Last-Event-ID. Its methods are called by many goroutines at
// once, and by one at a time for one stream.
type EventStore interface {
	// Append keeps an event of a session. It must copy e.Data. It may drop older
	// events to make room; ctx names the caller for a [MemoryEvents] that it is passed on to. An error says that the event is not kept; it is sent all
	// the same where there is a connection.
	Append(ctx context.Context, session string, e Event) error
	// After returns the events of a stream with numbers above the given one, in
	// order, as far as they are kept. They must not be changed by anyone.
	After(ctx context.Context, session string, stream, number uint64) ([]Event, error)
	// Forget drops all events of a session that ended.
	Forget(session string)
}

// An Event is one message on a stream of a session.
type Event struct {
	Stream uint64 // unique in the session
	Number uint64 // 1 for the first event of the stream, and so on without gaps
	Data   []byte // the message
}

// An event's id names the stream, with a letter for how it began, and the
// number in it: "p2-17". What comes before the first event has the number 0.
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
