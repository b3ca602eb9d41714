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

// Options are the settings of [Handler]; the zero value of each field means its default.
type Options struct {
	mcp.ServeOptions

	// StreamPath is the path for opening streams; default any.
	StreamPath string
	// MessagePath is the path or URL to which clients send messages. Requests for it must reach the
	// Endpoint. The default is the path on which the stream was opened. Set it if a proxy changes
	// paths.
	MessagePath string
	// MaxConnections limits the connected clients; default 10,000, of which one caller gets a
	// quarter. A caller is a principal, or an address without one. Further clients are refused with
	// 503.
	MaxConnections int

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
	// listed; default off.
	CORS bool
	// Principal authenticates a request. If its error is or wraps an [http.Handler], such as that
	// of streamable.Unauthorized, that handler writes the refusal; otherwise it is a plain 401. The
	// client does not get the error, which is logged at debug level.
	Principal func(*http.Request) (*mcp.Principal, error)

	// KeepAlive is the time between comments on an open stream; default 25 seconds, negative for
	// never.
	KeepAlive time.Duration
	// ReadTimeout is the time that a client has to send the body of a request. It gets a second
	// more for each 64 KiB of its announced length. Then the request is refused with 408. Default
	// 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is the time that a client has to read a response or an event, plus a second for
	// each 64 KiB. Then it is disconnected. Default 10 seconds.
	WriteTimeout time.Duration
}

// defaultMaxConnections is the default of [Options.MaxConnections].
const defaultMaxConnections = 10_000

// An Endpoint serves a Handler to clients of the HTTP+SSE transport. It is an [http.Handler] and
// safe for concurrent use.
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
	ending      bool // no further connections
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

// ServeHTTP opens a stream (GET) or accepts a message for one (POST).
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
		w.Header().Set("Allow", "GET") // also shows clients of Streamable HTTP the transport
		refuse(http.StatusMethodNotAllowed, "messages go to the URL that the stream of a GET begins with")
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
			path = u.EscapedPath() // as the client sent it, even if a prefix was stripped since
		}
		if strings.HasPrefix(path, "//") {
			path = "/." + path // otherwise the path would be another server's URL
		}
	}
	return path + "?" + sessionParameter + "=" + id
}
