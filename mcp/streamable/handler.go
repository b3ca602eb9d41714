package streamable

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
)

// Options holds the settings of [Handler]. The zero value of each field is its default.
type Options struct {
	mcp.ServeOptions

	// Stateless serves legacy clients without sessions, so that any replica can handle each
	// request. These clients cannot be sent requests or notifications, cannot cancel, and cannot
	// resume. It makes no difference for modern clients.
	Stateless bool
	// SessionTimeout is how long a legacy session may be idle, without running requests, open
	// streams or input. The default is 30 minutes.
	SessionTimeout time.Duration
	// SharedSessions, if not empty, lets replicas serve each other's legacy clients. It is a name,
	// and endpoints of the same name and StateKeys share their sessions. The id of a session then
	// carries it, sealed and bound to the principal: revision, client and capabilities. An endpoint
	// keeps few idle sessions. It offers tasks in sessions only with SharedTasks. What a client changes afterwards stays
	// at the replica that it reached: log level, subscriptions, values of [mcp.Session], and the
	// end of the session; without an EventLog also streams with their events. A response to a request of another replica
	// gets 400.
	SharedSessions string
	// SharedTasks is set if the tasks of the Handler are in a store that all replicas have.
	SharedTasks bool
	// Peers, if not nil, returns the URLs of the endpoint at the other replicas, for
	// SharedSessions. What belongs to another replica is then passed on to it, with the headers of
	// the client: responses to its requests, cancellations, the log level, subscriptions, streams
	// to resume, and the end of a session; and of modern clients the rounds of a call that waits at
	// a replica for its client. A peer gets the principal of a client certificate in place of the
	// certificate. StateKeys authenticate what peers pass on.
	Peers func() []string
	// DialPeerTLS, if not nil, connects to a peer whose URL begins with https. It performs the
	// handshake, and may present a certificate. The default checks the certificate of the peer by
	// the authorities of the system.
	DialPeerTLS func(ctx context.Context, network, addr string) (net.Conn, error)
	// Leaving, if not nil, reports whether clients should connect anew, which leads them to another
	// replica. Responses then ask them to close their connections.
	Leaving func() bool
	// SharedTimeout is the lifetime of shared sessions, from their beginning; default 7 days.
	SharedTimeout time.Duration
	// MaxSessions is the maximum number of legacy sessions. The default is 100,000. At the limit, a
	// caller with the most sessions loses its oldest idle one, or else its oldest one, to a caller
	// with fewer. A caller is a principal, or an address if there is no principal. Further sessions
	// are refused with 503.
	MaxSessions int
	// MaxStreams is the maximum number of open streams for notifications (GET,
	// subscriptions/listen). The default is 100,000. One caller gets at most a quarter. Further
	// streams are refused with 503.
	MaxStreams int

	// AllowedHosts lists names, without ports, under which clients may reach the server over TCP.
	// Localhost and the IP address of the connection are always allowed. Requests with other names
	// in the Host header are refused with 403, against DNS rebinding. Behind a reverse proxy that
	// preserves the Host header, list the public name. "*" allows all names, and thus also DNS
	// rebinding.
	AllowedHosts []string
	// AllowedOrigins lists origins (scheme://host[:port]) of web pages that may use the server. The
	// server's own origin is always allowed. Origins on localhost are allowed if the server was
	// reached there. Others are refused with 403. "*" allows all.
	AllowedOrigins []string
	// CORS lets web pages read the responses. These are the pages of AllowedOrigins, or of all
	// allowed origins if AllowedOrigins is empty. The Endpoint then responds to OPTIONS, and sends
	// the headers of cross-origin resource sharing. The default is off.
	CORS bool
	// Principal authenticates a request. If its error is or wraps an [http.Handler], such as the
	// one from [Unauthorized], that handler writes the response. Otherwise the response is a plain
	// 401. The error is not sent to the client, but logged at debug level.
	Principal func(*http.Request) (*mcp.Principal, error)
	// Challenge returns the WWW-Authenticate header of the response to a caller that lacks scopes
	// for a request (see [mcp.ScopeError]). The default is a challenge for a bearer token with
	// these scopes.
	Challenge func(needs []string) string

	// KeepAlive is the interval of comments on an open stream. The default is 25 seconds; a
	// negative value means no comments.
	KeepAlive time.Duration
	// ReadTimeout is how long a client may take to send the body of a request, plus a second for
	// each 64 KiB of the announced length. After that, the request is refused with 408. The default
	// is 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take to read a response or an event, plus a second for
	// each 64 KiB. After that, its connection is closed. A legacy client can resume the stream. The
	// default is 10 seconds.
	WriteTimeout time.Duration
	// EventStore stores the events of legacy streams for clients that resume. The default is a
	// [MemoryEvents] with default values.
	EventStore EventStore
	// EventLog, if not nil, keeps events of shared sessions also where all replicas find them.
	EventLog *EventLog
	// RetryAfter is how long a client should wait before it resumes a stream that a tool
	// disconnected. The default is 1 second.
	RetryAfter time.Duration
}

// The default values of [Options].
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
// and safe for concurrent use. Make it with [Handler].
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

// Handler returns an Endpoint that serves h. It panics if h is nil.
//
// The HTTP server of the Endpoint should have a ReadHeaderTimeout. Its WriteTimeout does not end
// streams.
func Handler(h mcp.Handler) *Endpoint { return HandlerWith(h, Options{}) }

// HandlerWith is like [Handler], with options. It also panics if a key in o.StateKeys is too short.
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
		if e.peers = newPeers(o.Peers, o.DialPeerTLS); e.peers != nil {
			core.Replica(e.sharing.replica)
		}
	}
	e.streams = share.New(o.MaxStreams)
	e.bodies.Max, e.bodies.Timeout = o.MaxMessage, o.ReadTimeout
	e.callers.limit = core.MaxInFlight()
	if m, ok := o.EventStore.(*MemoryEvents); ok {
		e.sessions.expire = m.expire
	}
	return e
}

// ServeHTTP handles one HTTP request.
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
	if !x.readPassedOn() {
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
	asked     share.Asked // result of the method context

	read   bool         // set when reading the body begins
	passed *passed.Note // of the peer that passed the request on; nil if a client sent it

	paramHeaders map[string][]string // headers that repeat arguments of a modern request

	noting    sync.Mutex
	observers []mcp.NoteObserver // observers of the requests, until the response begins
	began     int                // status of the response, once it has begun
}
