// Package link defines the interface between a client connection and a transport. The transport
// sends messages to one server and receives messages from it. It does not depend on the revision:
// the connection passes the headers that a revision requires.
package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Out is one message to send to the server.
type Out struct {
	// ID is the id of a request; empty for notifications and responses.
	ID jsonrpc.ID
	// Method is the method of a request or notification; empty for responses.
	Method string
	// Message is the whole message. It must not change after it was passed to a link, even if the
	// link failed.
	Message []byte
	// Header contains headers of the message, by canonical name. Transports with headers add their
	// own; other transports ignore them.
	Header map[string][]string
	// Session is the ID of the initialize that began the message's session. If the link has another
	// session by now, it does not send the message, and fails with ErrSessionLost. Empty means any
	// session. A link with only one session ignores the field.
	Session jsonrpc.ID
	// Arrives is set if a notifications/cancelled will follow a cancelled request and must not
	// overtake it. If each message has its own connection, Call then waits until the request has
	// arrived. It does not wait if too many cancelled requests wait already. If the request is not
	// known to have arrived, the error wraps ErrMayArrive.
	Arrives bool
	// Responded, if not nil, is called when the response to a request has arrived, before later
	// messages of the same channel are delivered. For a request with this field, an error without
	// an id is not accepted as the response.
	Responded func()
}

// A Link sends messages to one server and receives messages from it. All methods are safe for
// concurrent use. Every error contains the facts about the server that the transport knows: its
// command or URL, how it ended, the end of its standard error.
type Link interface {
	// Call sends a request and returns its response, which may be an error response. Before it
	// returns, it passes messages that arrive on the request's own channel to deliver, one at a
	// time. A transport with a single channel passes these messages to Receive instead. When ctx is
	// done, Call returns its cause at once and drops the response. It does not notify the server.
	// But a transport whose ClosingCancels returns true closes the request's channel.
	Call(ctx context.Context, out Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error)

	// Send sends a notification or a response.
	Send(ctx context.Context, out Out) error

	// Receive passes every message that belongs to no call to deliver, one at a time. It returns
	// the reason when ctx or the link is done. A transport with a separate channel for these
	// messages opens it, and opens it again after an interruption, as the server's settings for
	// resuming require. ErrNoChannel means that the server has no such channel. Receive calls begun
	// once, before any deliver. From then on, no response of Call overtakes an earlier message of
	// the same channel. At most one Receive may run at a time.
	Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error

	// Done returns a channel that is closed when the link can send no more messages; Err then
	// returns the reason.
	Done() <-chan struct{}
	Err() error

	// Close ends the link and all its resources: streams, goroutines, the server's processes, a
	// session. Running calls return. Close may be called more than once.
	Close() error

	// ClosingCancels reports whether closing a request's channel cancels the request on a modern
	// server. This is true for HTTP and false for streams.
	ClosingCancels() bool
}

// A Way describes how a link sends messages: the names of the transport in telemetry, the server's
// address, and a digest of the session's id.
type Way struct {
	Network, Protocol, Address string
	Port                       int
	Session                    string
}

// WayOf returns the Way of a link. A link without a method Way uses a pipe.
func WayOf(l Link) Way {
	if w, ok := l.(interface{ Way() Way }); ok {
		return w.Way()
	}
	return Way{Network: "pipe"}
}

// WithStray adds the last line that the server wrote and that is not a message to the error of a
// request that was given up. It asks the method Stray of the link, if there is one.
func WithStray(l Link, err error) error {
	if s, ok := l.(interface{ Stray() string }); ok {
		if line := s.Stray(); line != "" {
			return &StrayError{Err: err, Line: line}
		}
	}
	return err
}

// A Linker is a transport that makes links.
type Linker interface {
	Link(ctx context.Context) (Link, error)
}

// A Fallback is a Link that can be replaced by an older transport to the same server, as HTTP+SSE
// replaces Streamable HTTP.
type Fallback interface {
	Link
	// Older connects to the same server with the older transport.
	Older(ctx context.Context) (Link, error)
}

// ErrNoChannel is the error of Receive if the server has no channel for messages outside of calls.
var ErrNoChannel = errors.New("the server has no stream for messages of its own")

// ErrSessionLost is wrapped by errors that mean that the server no longer knows the session: it
// restarted, or the session expired. The request was not executed, unless the error also wraps
// [ErrNoResponse].
//
// To recover, send initialize once over the same Link, even if several calls failed. It begins a
// new session. Until then, the Link sends nothing, and fails every request except initialize and
// server/discover with ErrSessionLost. So no call is lost in between. Then restore the log level
// and subscriptions. Call Receive again, as the running one ended with ErrSessionLost, and repeat
// the calls that were not executed. Calls whose streams are still open continue, but cannot be
// resumed.
//
// A Link whose session is its connection is Done instead. Its Err returns ErrSessionLost if the
// server reported the loss.
var ErrSessionLost = errors.New("the server does not know the session any more")

// ErrNoResponse is wrapped by errors of calls that were sent and whose response is lost. Repeat the
// call only if that does no harm.
var ErrNoResponse = errors.New("the server may have executed the request")

// ErrMayArrive is wrapped by errors of calls that were given up before the server was known to have
// the request. Repeat the cancellation of the call later, as a server ignores a cancellation that
// arrives before the request.
var ErrMayArrive = errors.New("the request may still arrive")

// A StrayError is the error Err together with a line of the server's output. The line is not a
// message, and may be the cause.
type StrayError struct {
	Err  error
	Line string
}

// Error returns the text of Err and the line.
func (e *StrayError) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Stray()) }

// Stray returns the text about the line. An error of a timeout has it, too, which replaces this one.
func (e *StrayError) Stray() string {
	return fmt.Sprintf("its output has a line that is not a message, and perhaps is a part of one: %q", e.Line)
}

// Unwrap returns Err.
func (e *StrayError) Unwrap() error { return e.Err }
