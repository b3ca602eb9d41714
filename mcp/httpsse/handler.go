package httpsse

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// Options holds the settings of [Handler]. The zero value of each field is its default.
type Options struct {
	mcp.ServeOptions

	// StreamPath is the path for opening streams; the default is any path.
	StreamPath string
	// MessagePath is the path or URL to which clients send messages. Requests for it must reach the
	// Endpoint. The default is the path on which the stream was opened. Set MessagePath if a proxy
	// changes paths.
	MessagePath string
	// MaxConnections is the maximum number of connected clients; the default is 10,000. One caller
	// gets at most a quarter. A caller is a principal, or an address if there is no principal.
	// Further clients are refused with 503.
	MaxConnections int

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
	// allowed origins if AllowedOrigins is empty. The default is off.
	CORS bool
	// Principal authenticates a request. If its error is or wraps an [http.Handler], such as the
	// one from streamable.Unauthorized, that handler writes the response. Otherwise the response is
	// a plain 401. The error is not sent to the client, but logged at debug level.
	Principal func(*http.Request) (*mcp.Principal, error)

	// KeepAlive is the interval of comments on an open stream. The default is 25 seconds; a
	// negative value means no comments.
	KeepAlive time.Duration
	// ReadTimeout is how long a client may take to send the body of a request, plus a second for
	// each 64 KiB of the announced length. After that, the request is refused with 408. The default
	// is 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take to read a response or an event, plus a second for
	// each 64 KiB. After that, the client is disconnected. The default is 10 seconds.
	WriteTimeout time.Duration
}

// defaultMaxConnections is the default of [Options.MaxConnections].
const defaultMaxConnections = 10_000

// An Endpoint serves a Handler to clients of the HTTP+SSE transport. It is an [http.Handler] and
// safe for concurrent use. Make it with [Handler].
type Endpoint struct {
	edge      *edge.Edge
	options   Options
	guard     rebinding.Guard
	buffers   httpedge.Buffers
	bodies    httpedge.Bodies
	deadlines httpedge.Deadlines // of responses
	log       *slog.Logger

	places *share.Budget // for connections; some may not be in the table yet

	mu          sync.Mutex
	connections map[string]*connection
	ending      bool // set if no further connections are accepted
}

// Handler returns an Endpoint that serves h. It panics if h is nil.
//
// The HTTP server of the Endpoint should have a ReadHeaderTimeout. Its WriteTimeout does not end
// streams.
func Handler(h mcp.Handler) *Endpoint { return HandlerWith(h, Options{}) }

// HandlerWith is like [Handler], with options. It also panics if a key in o.StateKeys is too short.
func HandlerWith(h mcp.Handler, o Options) *Endpoint {
	httpedge.SetDefaults(&o.ServeOptions, &o.KeepAlive, &o.ReadTimeout, &o.WriteTimeout)
	httpedge.OrDefault(&o.MaxConnections, defaultMaxConnections)
	core, err := edge.ServingOver(h, o.ServeOptions, mcp.TransportSSE)
	if err != nil {
		panic(err)
	}
	e := &Endpoint{edge: core, options: o, log: o.Logger, places: share.New(o.MaxConnections), connections: make(map[string]*connection)}
	e.guard = rebinding.Guard{Hosts: o.AllowedHosts, Origins: o.AllowedOrigins}
	e.bodies.Max, e.bodies.Timeout = o.MaxMessage, o.ReadTimeout
	return e
}

// ServeHTTP opens a stream for GET, and accepts a message for a stream for POST.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, format string, args ...any) {
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		message := jsonrpc.AppendError(nil, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, format, args...))
		e.deadlines.Respond(w, status, message, e.options.WriteTimeout)
	}
	if err := e.guard.Check(r); err != nil {
		unreadbody.Close(w, r)
		refuse(http.StatusForbidden, "%v", err)
		return
	}
	if e.options.CORS && httpedge.CrossOrigin(w, r, e.guard.Shares(r)) {
		return
	}
	principal, known := e.deadlines.Authenticate(w, r, e.options.Principal, refuse, e.log, e.options.WriteTimeout)
	if !known {
		return
	}
	switch r.Method {
	case http.MethodGet:
		unreadbody.Close(w, r) // the body is not read
		e.connect(w, r, principal, refuse)
	case http.MethodPost:
		e.receive(w, r, principal, refuse)
	default:
		unreadbody.Close(w, r)
		w.Header().Set("Allow", "GET, POST")
		refuse(http.StatusMethodNotAllowed, "HTTP method %s is not allowed here", r.Method)
	}
}

// receive passes a message to the connection that its URL identifies.
func (e *Endpoint) receive(w http.ResponseWriter, r *http.Request, principal *mcp.Principal, refuse httpedge.Refuse) {
	id := r.URL.Query().Get(sessionParameter)
	if id == "" {
		unreadbody.Close(w, r)
		w.Header().Set("Allow", "GET") // also shows the transport to clients of Streamable HTTP
		refuse(http.StatusMethodNotAllowed, "send messages to the URL in the first event of the stream of a GET")
		return
	}
	c := e.find(id)
	if c == nil || !c.principal.IsOf(principal) {
		unreadbody.Close(w, r)
		refuse(http.StatusNotFound, "unknown session: its stream was closed, or never existed")
		return
	}
	if !httpedge.CanRead(w, r, refuse) {
		return
	}
	body, ok := e.bodies.Receive(w, r, c, refuse)
	if !ok {
		return
	}
	if !c.accept(body, principal) {
		refuse(http.StatusServiceUnavailable, "the connection is ending, or has too many requests: at most %d", e.edge.MaxInFlight())
		return
	}
	e.deadlines.Respond(w, http.StatusAccepted, nil, e.options.WriteTimeout)
}

// messageURL returns the URL for the messages of a new connection.
func (e *Endpoint) messageURL(r *http.Request, id string) string {
	path := e.options.MessagePath
	if path == "" {
		path = r.URL.EscapedPath()
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
			path = u.EscapedPath() // as the client sent it, even if a handler stripped a prefix
		}
		if strings.HasPrefix(path, "//") {
			path = "/." + path // otherwise the path would be another server's URL
		}
	}
	return path + "?" + sessionParameter + "=" + id
}
