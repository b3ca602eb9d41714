package streamable

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
)

// Options are the settings of [Handler]; the zero value of each field means
// its default.
type Options struct {
	mcp.ServeOptions

	// Stateless serves legacy clients without sessions: every request for itself,
	// on any replica. They cannot be asked anything then, get no notifications, cannot
	// cancel, and cannot resume. Modern clients are served alike either way.
	Stateless bool
	// SessionTimeout is how long a legacy session lives on when nothing of it is
	// running, open or heard of; default 30 minutes.
	SessionTimeout time.Duration
	// MaxSessions is how many legacy sessions there may be; default 100,000. Where there
	// are so many, a caller (a principal, or an address where there is none) that has most
	// loses its oldest idle one to a caller that has fewer. More are refused with 503.
	MaxSessions int
	// MaxStreams is how many streams for notifications (GET, subscriptions/listen) may be
	// open; default 100,000, of which one caller has a quarter. More are refused with 503.
	MaxStreams int

	// AllowedHosts are names, without ports, under which clients may reach the
	// server over TCP in addition to localhost and the IP address at which they
	// connected. Other names in the Host header are refused with 403, against DNS
	// rebinding. Behind a reverse proxy that passes the Host header on, list the
	// public name. "*" allows all names, and with that rebound pages, too.
	AllowedHosts []string
	// AllowedOrigins are origins (scheme://host[:port]) of web pages that may use
	// the server, in addition to its own and, where it was reached on localhost,
	// those on localhost. Others are refused with 403. "*" allows all.
	AllowedOrigins []string
	// CORS lets pages of AllowedOrigins read the responses, or of all origins that are allowed
	// where none is listed: OPTIONS is answered, and the headers of cross-origin resource
	// sharing are sent. Default off.
	CORS bool
	// Principal authenticates a request. Where its error is (or wraps) an
	// [http.Handler], such as that of [Unauthorized], that writes the refusal;
	// else it is a plain 401. The client does not see the error; it is logged at
	// debug level.
	Principal func(*http.Request) (*mcp.Principal, error)
	// Challenge is the WWW-Authenticate header of a response to a caller who lacks some of the scopes that a
	// request needs (see [mcp.ScopeError]); default a challenge for a bearer token with these scopes.
	Challenge func(needs []string) string

	// KeepAlive is how often a comment is sent on an open stream; default 25
	// seconds, negative for never.
	KeepAlive time.Duration
	// ReadTimeout is how long a client may take to send the body of a request, and
	// a second more for each 64 KiB that it announced; then it is refused with 408.
	// Default 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take to read a response or an event,
	// and a second more for each 64 KiB of it; then its connection is closed. A
	// legacy client can come back for the rest of a stream. Default 10 seconds.
	WriteTimeout time.Duration
	// EventStore keeps the events of legacy streams for clients that come back;
	// default a [MemoryEvents] with its own defaults.
	EventStore EventStore
	// RetryAfter is how long a client is asked to wait before it comes back to a
	// stream that a tool disconnected; default 1 second.
	RetryAfter time.Duration
}

// The defaults of [Options].
const (
	defaultSessionTimeout = 30 * time.Minute
	defaultMaxSessions    = 100_000
	defaultMaxStreams     = 100_000
	defaultRetryAfter     = time.Second
)

func (o *Options) setDefaults() {
	httpedge.SetDefaults(&o.ServeOptions, &o.KeepAlive, &o.ReadTimeout, &o.WriteTimeout)
	httpedge.OrDefault(&o.SessionTimeout, defaultSessionTimeout)
	httpedge.OrDefault(&o.MaxSessions, defaultMaxSessions)
	httpedge.OrDefault(&o.MaxStreams, defaultMaxStreams)
	httpedge.OrDefault(&o.RetryAfter, defaultRetryAfter)
	if o.EventStore == nil {
		o.EventStore = &MemoryEvents{}
	}
	if o.Challenge == nil {
		o.Challenge = func(needs []string) string {
			return `Bearer error="insufficient_scope", scope="` + quotedString.Replace(strings.Join(needs, " ")) + `"`
		}
	}
}

// An Endpoint serves a Handler to HTTP clients of every revision at one URL. It
// is an [http.Handler] and safe for concurrent use.
type Endpoint struct {
	edge      *edge.Edge
	options   Options
	guard     rebinding.Guard
	sessions  sessionTable
	calls     edge.Calls[*call]
	callers   callerTable
	streams   *share.Budget // open streams for notifications
	buffers   httpedge.Buffers
	bodies    httpedge.Bodies
	deadlines httpedge.Deadlines // of responses
	exchanges httplink.Exchanges
	log       *slog.Logger
}

// Handler returns an Endpoint that serves h. It panics if h is nil, which is a
// mistake in the program.
//
// The server that the Endpoint is mounted on should have a ReadHeaderTimeout; its
// WriteTimeout does not end streams.
func Handler(h mcp.Handler) *Endpoint { return HandlerWith(h, Options{}) }

// HandlerWith is [Handler] with options. It also panics if a key of o.StateKeys
// is too short.
func HandlerWith(h mcp.Handler, o Options) *Endpoint {
	o.setDefaults()
	core, err := edge.ServingOver(h, o.ServeOptions, mcp.TransportHTTP)
	if err != nil {
		panic(err)
	}
	e := &Endpoint{edge: core, options: o, log: o.Logger}
	e.guard = rebinding.Guard{Hosts: o.AllowedHosts, Origins: o.AllowedOrigins}
	e.sessions.byID, e.sessions.of, e.sessions.timeout, e.sessions.places = make(map[string]*session), make(map[string]*ofCaller), o.SessionTimeout, share.New(o.MaxSessions)
	e.streams = share.New(o.MaxStreams)
	e.bodies.Max, e.bodies.Timeout = o.MaxMessage, o.ReadTimeout
	e.callers.limit = core.MaxInFlight()
	if m, ok := o.EventStore.(*MemoryEvents); ok {
		e.sessions.expire = m.expire
	}
	return e
}

// ServeHTTP answers one HTTP request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{endpoint: e, w: w, r: r}
	if r.Method != http.MethodPost {
		unreadbody.Close(w, r) // it is not read
	}
	if err := e.guard.Check(r); err != nil {
		x.refuse(http.StatusForbidden, "%v", err)
		return
	}
	if e.options.CORS && httpedge.CrossOrigin(w, r, e.guard.Shares(r)) {
		return
	}
	var known bool
	if x.principal, known = e.deadlines.Authenticate(w, r, e.options.Principal, x.refuse, e.log, e.options.WriteTimeout); !known {
		return
	}
	switch r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.notAllowed("HTTP method %s is not allowed here", r.Method)
	}
}

// An exchange is one HTTP request that is being answered.
type exchange struct {
	endpoint  *Endpoint
	w         http.ResponseWriter
	r         *http.Request
	principal *mcp.Principal
	asked     share.Asked // of context

	read bool // the body, or that was tried

	paramHeaders map[string][]string // of a modern request: those that repeat arguments

	noting sync.Mutex
	noters []mcp.Noter // who watch the requests, until the response begins
	began  int         // the status with which it did
}
