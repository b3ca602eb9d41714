package streamable

import (
	"context"
	"strconv"
	"strings"
)

// An EventStore keeps events that legacy clients may not have received, for those that resume with
// Last-Event-ID. Many goroutines call its methods at once, but only one at a time for one stream.
type EventStore interface {
	// Append keeps an event of a session. It must copy e.Data. It may drop older events to make
	// room. ctx contains the caller for a [MemoryEvents] that the call is passed on to. An error
	// means that the event is not kept; it is still sent if there is a connection.
	Append(ctx context.Context, session string, e Event) error
	// After returns the kept events of a stream with numbers above number, in order. They must not
	// be changed.
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

// The id of an event has the stream, with a letter for the method that began it, and its number:
// "p2-17". The position before the first event has the number 0.
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
