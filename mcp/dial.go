package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A Transport knows how to reach one server: command.New for a program that it
// starts, streamable.Client for a URL, and so on. Package stream makes one of
// any pair of byte streams or of any connection that carries whole messages,
// such as a websocket.
type Transport interface {
	// Connect reaches the server once and finds out which revision it speaks. The
	// connection belongs to the caller. ctx limits the connecting only. The error
	// names the server and what was expected of it.
	Connect(ctx context.Context, o ConnectOptions) (Conn, error)
	// String names the server in errors: its command or URL, without secrets.
	String() string
}

// A Conn is a connection to one server: a [Handler] that answers by asking it.
// It answers server/discover from what the server said of itself when it was
// connected. All methods are safe for concurrent use.
type Conn interface {
	Handler
	// Revision is the protocol revision spoken.
	Revision() string
	// Done is closed when the connection is lost or closed; Err says why. A session
	// that a server on HTTP forgot is made new without that.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection and everything that belongs to it: running
	// requests, streams, the server's process. It is idempotent.
	Close() error
}

// ConnectOptions tell a [Transport] what a connection is for; the zero value of
// each field means its default.
type ConnectOptions struct {
	// Name names the server in errors and logs; required.
	Name string
	// Meta is what the connection says of its client in the handshake, and with
	// requests of its own.
	Meta Meta
	// Peer answers requests of a legacy server that belong to no request of the
	// client; nil refuses them.
	Peer Peer
	// OneClient says that all requests come from one client, so that whatever the
	// server asks is meant for it.
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

// ErrClosed is wrapped by the errors of a connection that was closed by its Close.
var ErrClosed = errors.New("the connection was closed on this side")

// ErrLost is wrapped by the error of a request whose response can no longer
// arrive, as the connection broke or the server ended: the server may have
// executed the request. A connection repeats such a request by itself only where
// it reads, or where the server says that the tool is idempotent.
var ErrLost = errors.New("the response is lost, and the server may have executed the request")
