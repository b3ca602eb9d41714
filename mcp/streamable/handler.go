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

// Options are the settings of [Handler]; the zero value of each field means its default.
type Options struct {
	mcp.ServeOptions

	// Stateless serves legacy clients without sessions: each request on its own, on any replica.
	// These clients then cannot be sent requests or notifications, cannot cancel, and cannot
	// resume. Modern clients are served alike either way.
	Stateless bool
	// SessionTimeout is the lifetime of an idle legacy session, without running requests, open
	// streams or input; default 30 minutes.
	SessionTimeout time.Duration
	// SharedSessions, if not empty, lets replicas serve each other's legacy clients. It is a name,
	// and endpoints of the same name and StateKeys share their sessions. The id of a session then
	// carries it, sealed and bound to the principal: revision, client and capabilities. An endpoint
	// keeps no idle session. It offers no tasks in sessions. What a client changes afterwards stays
	// at the replica that it reached: log level, subscriptions, values of [mcp.Session], streams
	// with their events, and the end of the session. A response to a request of another replica
	// gets 400.
	SharedSessions string
	// Peers, if not nil, returns the URLs of the endpoint at the other replicas, for
	// SharedSessions. What belongs to another replica is then passed on to it, with the headers of
	// the client: responses to its requests, cancellations, the log level, subscriptions, streams
	// to resume, and the end of a session. A client certificate cannot be passed on.
	Peers func() []string
	// SharedTimeout is the lifetime of shared sessions, from their beginning; default 7 days.
	SharedTimeout time.Duration
	// MaxSessions limits the legacy sessions; default 100,000. At the limit, a caller with the most
	// sessions loses its oldest idle one to a caller with fewer. A caller is a principal, or an
	// address without one. Further sessions are refused with 503.
	MaxSessions int
	// MaxStreams limits the open streams for notifications (GET, subscriptions/listen); default
	// 100,000, of which one caller gets a quarter. Further ones are refused with 503.
	MaxStreams int

	// AllowedHosts lists names, without ports, under which clients may reach the server over TCP.
	// Localhost and the IP address of the connection are always allowed. Other names in the Host
	// header are refused with 403, against DNS rebinding. Behind a reverse proxy that passes the
	// Host header on, list the public name. "*" allows all names, and thus rebound pages as well.
	AllowedHosts []string
	// AllowedOrigins lists origins (scheme://host[:port]) of web pages that may use the server. Its
	// own origin is always allowed, and those on localhost if it was reached there. Others are
	// refused with 403. "*" allows all.
	AllowedOrigins []string
	// CORS lets pages of AllowedOrigins read the responses, or of all allowed origins if none is
	// listed. OPTIONS is answered, and the headers of cross-origin resource sharing are sent.
	// Default off.
	CORS bool
	// Principal authenticates a request. If its error is or wraps an [http.Handler], such as that
	// of [Unauthorized], that handler writes the refusal; otherwise it is a plain 401. The client
	// does not get the error, which is logged at debug level.
	Principal func(*http.Request) (*mcp.Principal, error)
	// Challenge returns the WWW-Authenticate header of a response to a caller without some of the
	// scopes that a request needs (see [mcp.ScopeError]). The default is a challenge for a bearer
	// token with these scopes.
	Challenge func(needs []string) string

	// KeepAlive is the time between comments on an open stream; default 25 seconds, negative for
	// never.
	KeepAlive time.Duration
	// ReadTimeout is the time that a client has to send the body of a request. It gets a second
	// more for each 64 KiB of its announced length. Then the request is refused with 408. Default
	// 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is the time that a client has to read a response or an event, plus a second for
	// each 64 KiB. Then its connection is closed. A legacy client can resume the stream. Default 10
	// seconds.
	WriteTimeout time.Duration
	// EventStore keeps the events of legacy streams for clients that resume; default a
	// [MemoryEvents] with its own defaults.
	EventStore EventStore
	// RetryAfter is the time that a client is asked to wait before it resumes a stream that a tool
	// disconnected; default 1 second.
	RetryAfter time.Duration
}

// Defaults of [Options].
const (
	defaultSessionTimeout = 30 * time.Minute
	defaultSharedTimeout  = 7 * 24 * time.Hour
	defaultMaxSessions    = 100_000
	defaultMaxStreams     = 100_000
	defaultRetryAfter     = time.Second
)

func (o *Options) setDefaults() {
	httpedge.SetDefaults(&o.ServeOptions, &o.KeepAlive, &o.ReadTimeout, &o.WriteTimeout)
	httpedge.OrDefault(&o.SessionTimeout, defaultSessionTimeout)
	httpedge.OrDefault(&o.SharedTimeout, defaultSharedTimeout)
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

// An Endpoint serves a Handler at one URL to HTTP clients of all revisions. It is an [http.Handler]
// and safe for concurrent use.
type Endpoint struct {
	edge      *edge.Edge
	options   Options
	guard     rebinding.Guard
	sessions  sessionTable
	sharing   *sharing // nil if no other replica may have the sessions
	peers     *peers   // nil if nothing is passed on to other replicas
	calls     edge.Calls[*call]
	callers   callerTable
	streams   *share.Budget // open streams for notifications
	buffers   httpedge.Buffers
	bodies    httpedge.Bodies
	deadlines httpedge.Deadlines // of responses
	exchanges httplink.Exchanges
	log       *slog.Logger
}

// Handler returns an Endpoint that serves h. It panics if h is nil, which is a mistake in the
// program.
//
// The server that the Endpoint is mounted on should have a ReadHeaderTimeout; its WriteTimeout does
// not end streams.
func Handler(h mcp.Handler) *Endpoint { return HandlerWith(h, Options{}) }

// HandlerWith is [Handler] with options. It also panics if a key of o.StateKeys is too short.
func HandlerWith(h mcp.Handler, o Options) *Endpoint {
	o.setDefaults()
	core, err := edge.ServingOver(h, o.ServeOptions, mcp.TransportHTTP)
	if err != nil {
		panic(err)
	}
	e := &Endpoint{edge: core, options: o, log: o.Logger}
	e.guard = rebinding.Guard{Hosts: o.AllowedHosts, Origins: o.AllowedOrigins}
	e.sessions.byID, e.sessions.of, e.sessions.timeout, e.sessions.places = make(map[string]*session), make(map[string]*ofCaller), o.SessionTimeout, share.New(o.MaxSessions)
	if o.SharedSessions != "" && !o.Stateless {
		e.sharing = newSharing(o.SharedSessions, o.SharedTimeout, core.Seal())
		e.peers = newPeers(o.Peers)
	}
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
		unreadbody.Close(w, r) // the body is not read
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

// An exchange is one HTTP request in progress.
type exchange struct {
	endpoint  *Endpoint
	w         http.ResponseWriter
	r         *http.Request
	principal *mcp.Principal
	asked     share.Asked // result of context

	read bool // set once reading the body was attempted

	paramHeaders map[string][]string // headers that repeat arguments of a modern request

	noting sync.Mutex
	noters []mcp.Noter // watchers of the requests, until the response begins
	began  int         // status of the response once it has begun
}
