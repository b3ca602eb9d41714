package mcp

import (
	"log/slog"
	"time"
)

// ServeOptions configure a server transport; the zero value of each field means its default.
type ServeOptions struct {
	// MaxMessage is the size of the largest accepted message in bytes; the default is 16 MiB.
	MaxMessage int
	// MaxInFlight is the number of requests of one client that may run at the same time; the
	// default is 1,024. Further requests are refused with an internal error, over HTTP without a
	// session with status 503. A client is a connection or a legacy session. For HTTP requests
	// without a session it is a principal, or else an IP address. Over HTTP, subscriptions do not
	// count.
	MaxInFlight int
	// AskTimeout is how long a legacy client may take to respond to a request; the default is 10
	// minutes.
	AskTimeout time.Duration
	// StateTimeout is how long a modern client may take between two rounds of a request; the
	// default is 1 hour.
	StateTimeout time.Duration
	// StateKeys encrypt the state that a modern client carries between two rounds (requestState),
	// and ids of sessions that replicas share.
	// Each key has at least 32 random bytes. The first key seals and all keys unseal, so that keys
	// can be rotated. Replicas must share them. The default is one key that exists only in this
	// process.
	StateKeys [][]byte
	// StateKeysFrom, if not nil, replaces StateKeys. It is called each time that state is sealed or
	// unsealed, so that keys can be rotated while the program runs. All replicas should have a key
	// before one of them seals with it.
	StateKeysFrom func() [][]byte
	// Middleware wraps each request of a client, the first element outermost. This includes
	// requests that the transport handles itself: ping, and initialize, for which the Handler
	// receives server/discover.
	Middleware []Middleware
	// DrainTimeout is how long running requests may continue when serving ends; the default is 5
	// seconds.
	DrainTimeout time.Duration
	// Wire, if not nil, receives the messages from and to clients.
	Wire Wire
	// Logger receives problems with clients; the default is slog.Default().
	Logger *slog.Logger
}

// The defaults of [ServeOptions].
const (
	DefaultMaxMessage   = 16 << 20
	DefaultDrainTimeout = 5 * time.Second
)
