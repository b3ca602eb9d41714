package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A Transport connects to one server: command.New to a program that it starts, streamable.Client to
// a URL, and so on. Package stream makes a Transport of any pair of byte streams and of any
// connection of whole messages, such as a websocket.
type Transport interface {
	// Connect connects to the server once and finds the revision it speaks. The caller owns the
	// connection. ctx limits the connecting only. The error names the server and what was expected
	// of it.
	Connect(ctx context.Context, o ConnectOptions) (Conn, error)
	// String returns the server's name in errors: its command or URL, without secrets.
	String() string
}

// A Conn is a connection to one server. It is a [Handler] that sends each request to the server. It
// serves server/discover from the server's description at connect time. All methods are safe for
// concurrent use.
type Conn interface {
	Handler
	// Revision returns the protocol revision of the connection.
	Revision() string
	// Done returns a channel that is closed when the connection is lost or closed; Err then returns
	// the reason. If an HTTP server forgot the session, the connection starts a new one and stays
	// open.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection and everything that belongs to it: running requests, streams and
	// the server's process. It is idempotent.
	Close() error
}

// ConnectOptions describe a connection to a [Transport]. The zero value of each field means its
// default.
type ConnectOptions struct {
	// Name names the server in errors and logs; required.
	Name string
	// Meta describes the client in the handshake and in the connection's own requests.
	Meta Meta
	// Peer receives requests of a legacy server that belong to no request of the client. If it is
	// nil they are refused.
	Peer Peer
	// OneClient reports that all requests come from one client, so that every request of the server
	// is meant for it.
	OneClient bool
	// Revision, LegacyFirst, ConnectTimeout, ProbeTimeout, Starting, ParkTimeout, Wire and Logger are those of
	// [ClientOptions].
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

// ErrLost is wrapped by the error of a request whose response can no longer arrive because the
// connection broke or the server ended. The server may have executed the request. A connection
// repeats such a request only if it just reads, or if the server declares the tool idempotent.
var ErrLost = errors.New("the response is lost, and the server may have executed the request")
