package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A Transport connects to one server, and its [Conn] works on requests. To transfer messages by
// other means, such as a websocket, do not implement Transport: use stream.Messages with
// stream.Over. For example, command.New returns a Transport to a program that it starts, and
// streamable.Client one to a URL. Package stream also makes a Transport from any pair of byte
// streams.
type Transport interface {
	// Connect makes one connection to the server and negotiates the revision. The caller owns the
	// connection. The context limits only the connecting. The error names the server, the expected
	// message and the received one.
	Connect(ctx context.Context, o ConnectOptions) (Conn, error)
	// String returns the server's name for errors: its command or URL, without secrets.
	String() string
}

// A Conn is a connection to one server that works on requests: a [Handler] that sends each request
// to the server. A transport of messages is made with stream.Messages instead. A Conn serves
// server/discover from the description that the server sent when it was connected. All methods are
// safe for concurrent use.
type Conn interface {
	Handler
	// Revision returns the protocol revision of the connection.
	Revision() string
	// Done returns a channel that is closed when the connection is lost or closed; Err then returns
	// the reason. If an HTTP server has lost the session, the connection starts a new session and
	// stays open.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection and everything that belongs to it: running requests, streams and
	// the server's process. It is idempotent.
	Close() error
}

// ConnectOptions holds the settings of a connection through a [Transport]. The zero value of each
// field except Name is its default.
type ConnectOptions struct {
	// Name is the name of the server in errors and logs. It is required.
	Name string
	// Meta describes the client in the handshake and in the connection's own requests.
	Meta Meta
	// Peer receives requests of a legacy server that belong to no request of the client. If it is
	// nil, these requests are refused.
	Peer Peer
	// OneClient is set if all requests come from one client. Every request of the server is then
	// meant for that client.
	OneClient bool
	// Revision, LegacyFirst, ConnectTimeout, ProbeTimeout, Starting, ParkTimeout, Wire and Logger
	// have the same meaning as in [ClientOptions].
	Revision       string
	LegacyFirst    bool
	ConnectTimeout time.Duration
	ProbeTimeout   time.Duration
	Starting       func() bool
	ParkTimeout    time.Duration
	Wire           Wire
	Logger         *slog.Logger
}

// ErrClosed is wrapped by the errors of a connection after its Close was called.
var ErrClosed = errors.New("the connection was closed on this side")

// ErrLost is wrapped by the error of a request whose response can no longer arrive, because the
// connection broke or the server ended. The server may have executed the request. A connection
// repeats such a request only if the request just reads, or if the server declares the tool
// idempotent. If the error also wraps [ErrNotSent], the server has not got the request.
var ErrLost = errors.New("the response is lost, and the server may have executed the request")

// ErrNotSent is wrapped, together with [ErrLost], by the error of a request that begins after the
// connection ended. Repeating it on another connection does no harm.
var ErrNotSent = errors.New("the request was not sent, because the connection had ended")
