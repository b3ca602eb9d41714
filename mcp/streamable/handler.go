package streamable

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
	"github.com/junction-mcp/junction/mcp/internal/rebinding"
)

// Options are what [Handler] can be told; the zero value of each field means
// its default.
type Options struct {
	mcp.ServeOptions

	// Stateless serves legacy clients without sessions: every request for itself,
	// on any replica. They cannot be asked anything then, get no news, cannot
	// cancel, and cannot resume. Modern clients are served alike either way.
	Stateless bool
	// SessionTimeout is how long a legacy session lives on when nothing of it is
	// running, open or heard of; default 30 minutes.
	SessionTimeout time.Duration
	// MaxSessions is how many legacy sessions there may be; default 100,000. More
	// are refused with 503.
	MaxSessions int
	// MaxStreams is how many streams for news (GET, subscriptions/listen) may be
	// open; default 100,000. More are refused with 503.
	MaxStreams int

	// AllowedHosts are names, without ports, under which the server may be reached
	// beside localhost, 127.0.0.1 and [::1]. On a loopback address other names are
	// refused with 403, against DNS rebinding; elsewhere only if there is a list.
	// "*" allows all, as behind a reverse proxy on the same machine.
	AllowedHosts []string
	// AllowedOrigins are origins (scheme://host[:port]) of web pages that may use
	// the server beside its own and those on localhost; "*" allows all. Others are
	// refused with 403.
	AllowedOrigins []string
	// CORS lets pages of allowed origins read the answers: OPTIONS is answered, and
	// the headers of cross-origin resource sharing are sent. Default off.
	CORS bool
	// Principal authenticates a request. Where its error is (or wraps) an
	// [http.Handler], that writes the refusal; else it is a plain 401.
	Principal func(*http.Request) (*mcp.Principal, error)

	// KeepAlive is how often a comment is sent on an open stream; default 25
	// seconds, negative for never.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to read an event, and a second
	// more for each 64 KiB of it; then its connection is dropped, and it can come
	// back for the rest. Default 10 seconds.
	WriteTimeout time.Duration
	// EventStore keeps the events of legacy streams for clients that come back;
	// default a [MemoryEvents] with its own defaults.
	EventStore EventStore
	// RetryAfter is how long a client is told to wait before it comes back to a
	// stream that was cut; default 1 second.
	RetryAfter time.Duration
}

// The defaults of [Options].
const (
	defaultSessionTimeout = 30 * time.Minute
	defaultMaxSessions    = 100_000
	defaultMaxStreams     = 100_000
	defaultKeepAlive      = 25 * time.Second
	defaultWriteTimeout   = 10 * time.Second
	defaultRetryAfter     = time.Second
)

func (o *Options) setDefaults() {
	orDefault(&o.MaxMessage, mcp.DefaultMaxMessage)
	orDefault(&o.DrainTimeout, mcp.DefaultDrainTimeout)
	orDefault(&o.SessionTimeout, defaultSessionTimeout)
	orDefault(&o.MaxSessions, defaultMaxSessions)
	orDefault(&o.MaxStreams, defaultMaxStreams)
	orDefault(&o.WriteTimeout, defaultWriteTimeout)
	orDefault(&o.RetryAfter, defaultRetryAfter)
	if o.KeepAlive == 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.EventStore == nil {
		o.EventStore = &MemoryEvents{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func orDefault[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// An Endpoint serves a Handler to HTTP clients of every revision at one URL. It
// is an [http.Handler] and safe for concurrent use.
type Endpoint struct {
	edge     *edge.Edge
	options  Options
	guard    rebinding.Guard
	sessions sessionTable
	calls    callTable
	streams  atomic.Int64 // open streams for news
	buffers  httpedge.Buffers
	log      *slog.Logger
}

// Handler returns an Endpoint that serves h. options, at most one, may be left
// away. It panics if h is nil or a key of options.StateKeys is too short, as
// both are mistakes in the program.
//
// The server that the Endpoint is mounted on should have a ReadHeaderTimeout; its
// WriteTimeout does not end streams.
func Handler(h mcp.Handler, options ...Options) *Endpoint {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o.setDefaults()
	core, err := edge.Serving(h, o.ServeOptions)
	if err != nil {
		panic(err)
	}
	e := &Endpoint{edge: core, options: o, log: o.Logger}
	e.guard = rebinding.Guard{Hosts: o.AllowedHosts, Origins: o.AllowedOrigins}
	e.sessions.byID, e.sessions.timeout, e.sessions.most = make(map[string]*session), o.SessionTimeout, o.MaxSessions
	if m, ok := o.EventStore.(*MemoryEvents); ok {
		e.sessions.expire = m.expire
	}
	return e
}

// ServeHTTP answers one HTTP request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{endpoint: e, w: w, r: r}
	if err := e.guard.Check(r); err != nil {
		x.refuse(http.StatusForbidden, "%v", err)
		return
	}
	if e.options.CORS && httpedge.CrossOrigin(w, r) || !x.authenticate() {
		return
	}
	switch r.Method {
	case http.MethodPost:
		x.post()
		if x.subscription != nil {
			x.listenModern(x.subscription)
		}
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.notAllowed("%s is no method of this endpoint", r.Method)
	}
}

// An exchange is one HTTP request that is being answered.
type exchange struct {
	endpoint  *Endpoint
	w         http.ResponseWriter
	r         *http.Request
	principal *mcp.Principal

	subscription *subscription // to be answered last
}

// authenticate finds out who asks; if it reports false it has answered.
func (x *exchange) authenticate() bool {
	if x.endpoint.options.Principal == nil {
		return true
	}
	var err error
	if x.principal, err = x.endpoint.options.Principal(x.r); err == nil {
		return true
	}
	var refusal http.Handler
	if errors.As(err, &refusal) {
		refusal.ServeHTTP(x.w, x.r)
	} else {
		x.refuse(http.StatusUnauthorized, "not authenticated")
	}
	return false
}
