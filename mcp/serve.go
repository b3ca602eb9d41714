package mcp

import (
	"log/slog"
	"time"
)

// ServeOptions configure a server transport; the zero value of each field means
// its default.
type ServeOptions struct {
	// MaxMessage is the size of the largest message accepted, in bytes; default 16 MiB.
	MaxMessage int
	// MaxInFlight is how many requests of one client run at the same time;
	// default 1,024. More are refused with an internal error, over HTTP with
	// status 503 where they belong to no session. One client is a connection or a
	// legacy session; for HTTP requests without a session it is a principal, or
	// an IP address where there is none. Over HTTP, subscriptions do not count.
	MaxInFlight int
	// AskTimeout is how long a legacy client may take to respond to a request;
	// default 10 minutes.
	AskTimeout time.Duration
	// StateTimeout is how long a modern client may take between two rounds of a
	// request; default 1 hour.
	StateTimeout time.Duration
	// StateKeys lock what a modern client carries between two rounds
	// (requestState), each at least 32 random bytes: the first locks, all unlock,
	// so that they can be rotated. Replicas must share them. Default one key that
	// ends with the process.
	StateKeys [][]byte
	// StateKeysFrom, if not nil, returns them in place of StateKeys. It is called each time that something is locked or
	// unlocked, so that keys can be rotated while the program runs; replicas should know a key before one of them locks with it.
	StateKeysFrom func() [][]byte
	// Middleware is around each request of a client, the first one outermost, those among them that the transport answers itself: ping,
	// and initialize, for which the Handler gets server/discover.
	Middleware []Middleware
	// DrainTimeout is how long running requests may go on when serving ends;
	// default 5 seconds.
	DrainTimeout time.Duration
	// Wire, if not nil, sees the messages from and to clients.
	Wire Wire
	// Logger gets what goes wrong with a client; default slog.Default().
	Logger *slog.Logger
}

// The defaults of [ServeOptions].
const (
	DefaultMaxMessage   = 16 << 20
	DefaultDrainTimeout = 5 * time.Second
)
