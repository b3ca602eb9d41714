// Package link is what a client connection needs of a transport: a way to send
// messages to one server and to get what comes back. It knows no revision; what
// a revision wants to see in headers is handed to it as headers.
package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Out is one message on its way to the server.
type Out struct {
	// ID is the request's id; empty for notifications and responses.
	ID jsonrpc.ID
	// Method is the request's or notification's method; empty for responses.
	Method string
	// Message is the whole message. It must not be changed any more once it was
	// handed to a link, whatever became of it.
	Message []byte
	// Header are headers that go with it, by canonical name, on transports that
	// have headers, which add their own. Others ignore them.
	Header map[string][]string
	// Session is the ID of the initialize that began the session which the message
	// belongs to: in another one it is not sent, but fails with ErrSessionLost. Empty
	// is whatever session there is. A link with only one session ignores it.
	Session jsonrpc.ID
	// Arrives says that notifications/cancelled follows where the request is given
	// up, which must not overtake it: where each message has a connection of its
	// own, Call gives the request the time to arrive before it returns, unless too
	// many that were given up have not arrived yet. Where it is not known to have
	// arrived, the error wraps ErrMayArrive.
	Arrives bool
	// Responded, if set, is called when the response to a request has come, before
	// anything is delivered that came behind it on the same channel. An error
	// without an id is no response to such a request.
	Responded func()
}

// A Link carries messages to one server and back. All methods are safe for
// concurrent use. Every error names what the transport knows of the server: its
// command or URL, how it ended, the end of its standard error.
type Link interface {
	// Call sends a request and returns its response, an error response included.
	// Messages that arrive on the request's own channel before the response are
	// handed to deliver, one after the other, before Call returns; a transport
	// where everything arrives on one channel hands them to Receive instead.
	// When ctx is done Call returns its cause at once and drops the response; it
	// does not tell the server, except that a transport whose ClosingCancels is
	// true closes the request's channel.
	Call(ctx context.Context, out Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error)

	// Send sends a notification or a response.
	Send(ctx context.Context, out Out) error

	// Receive hands every message that belongs to no call to deliver, one after
	// the other, until ctx is done or the link is done, and returns why. A
	// transport with a channel of its own for such messages opens it, and opens it
	// again (with what the server said of resuming) when it breaks; ErrNoChannel
	// says that the server has none. begun is called once, before anything is
	// delivered: from then on no response of Call overtakes a message that came
	// before it on the same channel. At most one Receive runs at a time.
	Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error

	// Done is closed when the link can carry nothing any more; Err says why.
	Done() <-chan struct{}
	Err() error

	// Close ends the link and everything that belongs to it: streams, goroutines,
	// the server's processes, a session. Running calls return. It is idempotent.
	Close() error

	// ClosingCancels reports whether giving up a request's channel tells a modern
	// server that the request is cancelled (HTTP does, streams do not).
	ClosingCancels() bool
}

// A Way is how a link carries messages: the transport as telemetry names it, the server's address, and a digest of the session's id.
type Way struct {
	Network, Protocol, Address string
	Port                       int
	Session                    string
}

// WayOf returns the way of a link; by pipe where it does not say.
func WayOf(l Link) Way {
	if w, ok := l.(interface{ Way() Way }); ok {
		return w.Way()
	}
	return Way{Network: "pipe"}
}

// A Linker is a transport that makes links.
type Linker interface {
	Link(ctx context.Context) (Link, error)
}

// A Fallback is a Link that can be replaced by one of an older transport to the
// same server (Streamable HTTP by HTTP+SSE).
type Fallback interface {
	Link
	// Older connects to the same server with the older transport.
	Older(ctx context.Context) (Link, error)
}

// ErrNoChannel is returned by Receive where the server offers no channel for
// messages of its own accord.
var ErrNoChannel = errors.New("the server has no stream for messages of its own")

// ErrSessionLost is wrapped by errors that say that the server does not know the
// session any more: it restarted, or the session expired. Such a request was not
// executed, unless the error wraps [ErrNoResponse] as well.
//
// What to do: send initialize once, over the same Link, however many calls
// failed; it begins a new session. Until then the Link fails every request but
// initialize and server/discover with ErrSessionLost and sends nothing, so no
// call gets lost in between. Then restore the log level and subscriptions, call
// Receive again, as the one that ran ended with ErrSessionLost, and repeat the
// calls that were not executed. Calls whose streams are still open go on, but
// cannot be resumed.
//
// A Link whose session is its connection is Done instead, with ErrSessionLost as
// its Err where the server said so.
var ErrSessionLost = errors.New("the server does not know the session any more")

// ErrNoResponse is wrapped by errors of calls that were sent and whose response
// is lost. Repeat such a call only where that does no harm.
var ErrNoResponse = errors.New("the server may have executed the request")

// ErrMayArrive is wrapped by errors of calls that were given up before the server was
// known to have the request. Cancel such a call again later: a server ignores a
// cancellation that comes first.
var ErrMayArrive = errors.New("the request may still arrive")

// A StrayError is Err, where the output of the server has a line that is not a message, and may be why.
type StrayError struct {
	Err  error
	Line string
}

// Error adds the line.
func (e *StrayError) Error() string {
	return fmt.Sprintf("%v; its output has a line that is not a message, and perhaps is a part of one: %q", e.Err, e.Line)
}

// Unwrap is Err.
func (e *StrayError) Unwrap() error { return e.Err }
