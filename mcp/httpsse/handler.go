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

// Options are the settings of [Handler]; the zero value of each field means
// its default.
type Options struct {
	mcp.ServeOptions

	// StreamPath is the path on which streams are opened; default any.
	StreamPath string
	// MessagePath is the path, or the URL, that clients are to send messages
	// to; requests for it must reach the Endpoint. Default the path on which the
	// stream was opened. Set it where a proxy changes paths.
	MessagePath string
	// MaxConnections is how many clients may be connected; default 10,000, of which one
	// caller (a principal, or an address where there is none) has a quarter. More are
	// refused with 503.
	MaxConnections int

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
	// where none is listed; default off.
	CORS bool
	// Principal authenticates a request. Where its error is (or wraps) an
	// [http.Handler], such as that of streamable.Unauthorized, that writes the
	// refusal; else it is a plain 401. The client does not see the error; it is
	// logged at debug level.
	Principal func(*http.Request) (*mcp.Principal, error)

	// KeepAlive is how often a comment is sent on an open stream; default 25
	// seconds, negative for never.
	KeepAlive time.Duration
	// ReadTimeout is how long a client may take to send the body of a request, and
	// a second more for each 64 KiB that it announced; then it is refused with 408.
	// Default 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take to read a response or an event,
	// and a second more for each 64 KiB of it; then it is disconnected. Default 10
	// seconds.
	WriteTimeout time.Duration
}

// defaultMaxConnections is the default of [Options.MaxConnections].
const defaultMaxConnections = 10_000

// An Endpoint serves a Handler to clients of the HTTP+SSE transport. It is an
// [http.Handler] and safe for concurrent use.
type Endpoint struct {
	edge      *edge.Edge
	options   Options
	guard     rebinding.Guard
	buffers   httpedge.Buffers
	bodies    httpedge.Bodies
	deadlines httpedge.Deadlines // of responses
	log       *slog.Logger

	places *share.Budget // of connections; some may not be in the table yet

	mu          sync.Mutex
	connections map[string]*connection
	ending      bool // nobody may connect any more
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

// ServeHTTP opens a stream (GET), or takes a message for one (POST).
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

// receive hands a message to the connection that it names.
func (e *Endpoint) receive(w http.ResponseWriter, r *http.Request, principal *mcp.Principal, refuse httpedge.Refuse) {
	id := r.URL.Query().Get(sessionParameter)
	if id == "" {
		unreadbody.Close(w, r)
		w.Header().Set("Allow", "GET") // also tells clients of Streamable HTTP what this is
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

// messageURL is where the client of a new connection sends its messages.
func (e *Endpoint) messageURL(r *http.Request, id string) string {
	path := e.options.MessagePath
	if path == "" {
		path = r.URL.EscapedPath()
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
			path = u.EscapedPath() // as the client knows it, whatever was stripped since
		}
		if strings.HasPrefix(path, "//") {
			path = "/." + path // by itself it would name another server
		}
	}
	return path + "?" + sessionParameter + "=" + id
}
