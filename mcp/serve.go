package mcp

import (
	"log/slog"
	"time"
)

// ServeOptions holds the settings of a server transport. The zero value of each field is its
// default.
type ServeOptions struct {
	// MaxMessage is the maximum size of an accepted message in bytes. The default is 16 MiB.
	MaxMessage int
	// MaxInFlight is the maximum number of requests of one client that run at the same time. The
	// default is 1,024. Further requests are refused with an internal error or, over HTTP without a
	// session, with status 503. A client is a connection or a legacy session. For HTTP requests
	// without a session, it is a principal or, if there is none, an IP address. Subscriptions over
	// HTTP do not count.
	MaxInFlight int
	// AskTimeout is how long a legacy client may take to respond to a request. The default is 10
	// minutes.
	AskTimeout time.Duration
	// StateTimeout is how long a modern client may take between two rounds of a request. The
	// default is 1 hour.
	StateTimeout time.Duration
	// StateKeys lists the keys that seal the state of a request (requestState), which a modern
	// client stores between two rounds. Each key must have at least 32 random bytes. The first key
	// seals and all keys unseal, so that keys can be rotated. All replicas must have the same keys.
	// The default is one key that exists only in this process.
	StateKeys [][]byte
	// StateKeysFrom, if not nil, replaces StateKeys. It is called each time that state is sealed or
	// unsealed, so that keys can be rotated while the program runs. All replicas should have a key
	// before one of them seals with it.
	StateKeysFrom func() [][]byte
	// Middleware wraps each request of a client; the first element is the outermost. It also sees
	// requests that the transport itself handles: ping, and initialize, for which the Handler gets
	// server/discover.
	Middleware []Middleware
	// DrainTimeout is how long running requests may continue when serving ends. The default is 5
	// seconds.
	DrainTimeout time.Duration
	// Wire, if not nil, receives the messages to and from clients.
	Wire Wire
	// Logger receives records of problems with clients. The default is slog.Default().
	Logger *slog.Logger
}

// The default values of [ServeOptions].
const (
	DefaultMaxMessage   = 16 << 20
	DefaultStateTimeout = time.Hour
	DefaultDrainTimeout = 5 * time.Second
)
