// Package link defines the interface between a client connection and a transport, which sends
// messages to one server and receives its messages. It is independent of revisions: headers that a
// revision requires are passed as headers.
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
	// Message is the whole message. It must not change after it was passed to a link, even if the
	// link failed.
	Message []byte
	// Header holds headers of the message, by canonical name. Transports with headers add their
	// own; others ignore them.
	Header map[string][]string
	// Session is the ID of the initialize that began the message's session. In another session the
	// link does not send the message but fails with ErrSessionLost. Empty means any session. A link
	// with only one session ignores it.
	Session jsonrpc.ID
	// Arrives is set if notifications/cancelled follows a cancelled request and must not overtake
	// it. If each message has a connection of its own, Call then waits for the request to arrive.
	// It does not wait if too many cancelled requests wait already. If the request is not known to
	// have arrived, the error wraps ErrMayArrive.
	Arrives bool
	// Responded, if set, is called when the response to a request has come, before later messages
	// of the same channel are delivered. An error without an id is not accepted as the response to
	// such a request.
	Responded func()
}

// A Link carries messages to and from one server. All methods are safe for concurrent use. Every
// error contains the transport's facts about the server: its command or URL, how it ended, the end
// of its standard error.
type Link interface {
	// Call sends a request and returns its response, which may be an error response. It passes
	// messages that arrive on the request's own channel before the response to deliver, one after
	// the other, before it returns. A transport with a single channel passes them to Receive
	// instead. When ctx is done, Call returns its cause at once and drops the response. It does not
	// notify the server, except that a transport whose ClosingCancels is true closes the request's
	// channel.
	Call(ctx context.Context, out Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error)

	// Send sends a notification or a response.
	Send(ctx context.Context, out Out) error

	// Receive passes every message that belongs to no call to deliver, one after the other. It
	// returns the reason when ctx or the link is done. A transport with a separate channel for such
	// messages opens it, and reopens it after a break (by the server's settings for resuming).
	// ErrNoChannel means that the server has no such channel. Receive calls begun once, before any
	// deliver: from then on no response of Call overtakes an earlier message of the same channel.
	// At most one Receive runs at a time.
	Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error

	// Done is closed when the link can carry no more messages; Err then returns the reason.
	Done() <-chan struct{}
	Err() error

	// Close ends the link and all its resources: streams, goroutines, the server's processes, a
	// session. Running calls return. It is idempotent.
	Close() error

	// ClosingCancels reports whether closing a request's channel cancels the request on a modern
	// server (true for HTTP, false for streams).
	ClosingCancels() bool
}

// A Way describes how a link carries messages: the transport's names in telemetry, the server's
// address, and a digest of the session's id.
type Way struct {
	Network, Protocol, Address string
	Port                       int
	Session                    string
}

// WayOf returns the way of a link, by pipe if it has no method Way.
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

// A Fallback is a Link that an older transport to the same server can replace (Streamable HTTP by
// HTTP+SSE).
type Fallback interface {
	Link
	// Older connects to the same server with the older transport.
	Older(ctx context.Context) (Link, error)
}

// ErrNoChannel is returned by Receive if the server has no channel for messages outside calls.
var ErrNoChannel = errors.New("the server has no stream for messages of its own")

// ErrSessionLost is wrapped by errors that mean that the server does not know the session any more:
// it restarted, or the session expired. Such a request was not executed, unless the error wraps
// [ErrNoResponse] as well.
//
// To recover, send initialize once over the same Link, however many calls failed. It begins a new
// session. Until then the Link fails every request except initialize and server/discover with
// ErrSessionLost and sends nothing, so no call is lost in between. Then restore the log level and
// subscriptions. Call Receive again, as the running one ended with ErrSessionLost, and repeat the
// calls that were not executed. Calls whose streams are still open continue, but cannot be resumed.
//
// A Link whose session is its connection is Done instead. Its Err is ErrSessionLost if the server
// reported it.
var ErrSessionLost = errors.New("the server does not know the session any more")

// ErrNoResponse is wrapped by errors of calls that were sent and whose response is lost. Repeat
// such a call only if it does no harm.
var ErrNoResponse = errors.New("the server may have executed the request")

// ErrMayArrive is wrapped by errors of calls that were given up before the server was known to have
// the request. Repeat the cancellation of such a call later: a server ignores one that comes first.
var ErrMayArrive = errors.New("the request may still arrive")

// A StrayError is Err together with a line of the server's output that is not a message and may be
// the cause.
type StrayError struct {
	Err  error
	Line string
}

// Error adds the line.
func (e *StrayError) Error() string {
	return fmt.Sprintf("%v; its output has a line that is not a message, and perhaps is a part of one: %q", e.Err, e.Line)
}

// Unwrap returns Err.
func (e *StrayError) Unwrap() error { return e.Err }
