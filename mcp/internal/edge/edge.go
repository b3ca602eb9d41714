package edge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// Limits, and defaults of the options.
const (
	defaultInFlight = 1_024            // requests of one client at the same time
	defaultAskTime  = 10 * time.Minute // wait for the response of a legacy client to a request
	maxState        = 256 << 10        // bytes of requestState

	maxServerRequests  = 64    // requests to the client in one round or call, or from one subscription
	maxSessionRequests = 1_024 // requests to the client from all calls and subscriptions of a legacy session
)

// Methods and notifications that the edge handles itself.
const (
	methodInitialize  = "initialize"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	methodTasksList   = "tasks/list"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"

	notifyInitialized  = "notifications/initialized"
	notifyCancelled    = "notifications/cancelled"
	notifyProgress     = "notifications/progress"
	notifyMessage      = "notifications/message"
	notifyUpdated      = "notifications/resources/updated"
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
)

// Options holds the settings of an Edge. Zero values mean the defaults above.
type Options struct {
	InFlight  int
	AskTime   time.Duration
	StateTime time.Duration
	// Replica names this process among those with the same Seal; see [mcp.State.Bind].
	Replica string
	// Seal encrypts requestState. The default is a ring whose keys only this process has.
	Seal *seal.Ring
	// Middleware wraps every request of a client, including those that reach no Handler.
	Middleware []mcp.Middleware
	// Wire, if not nil, observes the messages.
	Wire mcp.Wire
	// Transport is the kind of transport; see [mcp.WireMessage].
	Transport string
	Logger    *slog.Logger
}

// An Edge serves one Handler to any number of clients. It is safe for concurrent use.
type Edge struct {
	handler  mcp.Handler
	inner    mcp.Handler // without options.Middleware
	options  Options
	log      *slog.Logger
	seal     *seal.Ring
	bound    boundTable
	sessions *share.Budget // memory of all sessions and listens
	messages *share.Budget // large messages in progress

	capabilities newest[mcp.ClientCapabilities]
	info         newest[mcp.Implementation]
}

// New returns an Edge that serves h.
func New(h mcp.Handler, o Options) (*Edge, error) {
	if h == nil {
		return nil, errors.New("mcp: no handler to serve")
	}
	o.InFlight = cmp.Or(max(o.InFlight, 0), defaultInFlight)
	o.AskTime = cmp.Or(max(o.AskTime, 0), defaultAskTime)
	o.StateTime = cmp.Or(max(o.StateTime, 0), mcp.DefaultStateTimeout)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Seal == nil {
		ring, err := seal.NewRing()
		if err != nil {
			return nil, err
		}
		o.Seal = ring
	}
	e := &Edge{options: o, log: o.Logger, seal: o.Seal, sessions: share.Bytes(maxSessionsHeld), messages: share.Bytes(maxMessagesHeld)}
	e.handler, e.inner = e.around(h), h
	return e, nil
}

// MaxInFlight returns the maximum number of requests of one client that run at the same time.
func (e *Edge) MaxInFlight() int { return e.options.InFlight }

// A Sender sends the messages of one request, or of one stream of notifications, to the client. A
// message is valid only during the call of Send. For one request, only one goroutine at a time
// calls Send, or Disconnect on transports that can resume.
type Sender interface {
	Send(ctx context.Context, message []byte) error
}

// From describes the origin of a request.
type From struct {
	Principal *mcp.Principal
	// Caller identifies the client; see [mcp.Request.Caller].
	Caller any
	// ParamHeaders holds the Mcp-Param-* headers; nil for transports without headers.
	ParamHeaders map[string][]string
	// Out sends messages to the client while the request runs.
	Out Sender
	// Carrier, if not nil, gets the NoteObserver of an observed request before it is handled.
	Carrier Carrier
	// Way, if not nil, describes how the request arrived.
	Way Way
	// NoTasks is set if the session that this request begins offers no tasks of its era, which only
	// a session in the memory of this process can have.
	NoTasks bool
	// Key identifies the client of the session that this request begins; default the session. It
	// becomes [mcp.Request.Caller] of all its requests.
	Key any
}

// A Way describes how the messages of a client travel.
type Way interface {
	// TransportInfo returns the description. Its ID is empty.
	TransportInfo() mcp.TransportInfo
}

// transportInfo returns the description of the request with this id. The Way may be nil.
func transportInfo(way Way, id jsonrpc.ID) mcp.TransportInfo {
	var c mcp.TransportInfo
	if way != nil {
		c = way.TransportInfo()
	}
	if c.ID = string(id); id.IsString() {
		c.ID, _ = jsonrpc.Unquote([]byte(id))
	}
	return c
}

// A Carrier adds facts about the transport of a request and its response to the notes of an
// observer.
type Carrier interface{ Watched(by mcp.NoteObserver) }

// A Reply is the response to a request.
type Reply struct {
	// Message is the response; nil if the client cancelled the request.
	Message []byte
	// Code is the code of the error; 0 for a result.
	Code int
	// Malformed is set if the request was refused before it reached a Handler.
	Malformed bool
	// Needs lists the required scopes if the caller lacks some of them; nil otherwise.
	Needs []string
	// Ended is set if the request failed because the server is shutting down.
	Ended bool
}

// failed returns the reply for an error of a Handler.
func failed(dst []byte, r *revision.Revision, id jsonrpc.ID, method string, err error) Reply {
	e := wireError(r, method, err)
	reply := Reply{Message: jsonrpc.AppendError(dst, id, e), Code: e.Code}
	if lacking, is := errors.AsType[*mcp.ScopeError](err); is {
		reply.Needs = lacking.Needs
	}
	return reply
}

// refuse returns the reply for an error that the edge itself found.
func refuse(dst []byte, id jsonrpc.ID, e *jsonrpc.Error) Reply {
	return Reply{Message: jsonrpc.AppendError(dst, id, e), Code: e.Code, Malformed: true}
}

// The causes that end the context of a request.
var (
	// ErrCancelled is the cause if the client cancelled the request. After that, no message is sent
	// for the request.
	ErrCancelled = errors.New("the client cancelled the request")
	// ErrShutdown is the cause if the server shuts down. A subscription then ends with its result.
	ErrShutdown = errors.New("the server is shutting down")
)

// wireError converts an error of a Handler to the form of the revision.
func wireError(r *revision.Revision, method string, err error) *jsonrpc.Error {
	e := mcp.ErrorOf(err)
	return r.Error(method, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data})
}

// appendReply appends the response that contains the result of a Handler.
func (e *Edge) appendReply(dst []byte, r *revision.Revision, id jsonrpc.ID, method string, result *mcp.Result) Reply {
	out, err := e.appendResult(dst, r, id, method, result)
	if err != nil {
		return failed(dst, r, id, method, err)
	}
	return Reply{Message: out}
}

func (e *Edge) appendResult(dst []byte, r *revision.Revision, id jsonrpc.ID, method string, result *mcp.Result) (out []byte, err error) {
	defer e.recovered(method, "", &err)
	envelope := revision.Envelope{Type: revision.ResultType(result.Type), Meta: result.Meta, TTL: result.TTL.Milliseconds(), Scope: revision.CacheScope(result.Scope)}
	body := revision.Body{JSON: result.JSON, TextOnly: result.TextOnly()}
	if body.JSON == nil {
		body.Append = result.AppendJSON
	} else if kept, is := result.Value.(*revision.Kept); is && kept.Holds(result.JSON) { // otherwise middleware changed the list
		body.Kept = kept
	}
	w := jsonrpc.NewObject(dst)
	w.String("jsonrpc", "2.0")
	w.ID("id", id)
	err = w.Encoded("result", func(dst []byte) ([]byte, error) { return r.AppendResult(dst, method, envelope, body) })
	return w.Bytes(), err
}
