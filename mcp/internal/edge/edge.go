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

// Limits and times, with their defaults.
const (
	defaultInFlight  = 1_024            // requests of one client that run at the same time
	defaultAskTime   = 10 * time.Minute // how long a legacy client may take to respond to a request
	defaultStateTime = time.Hour        // how long a modern client may take between two rounds
	maxState         = 256 << 10        // bytes of requestState

	maxServerRequests  = 64    // requests to the client in one round or call, or from one subscription
	maxSessionRequests = 1_024 // of all calls and subscriptions of a legacy session
)

// Method and notification names that the edge itself acts on.
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

// Options configure an Edge; zero values mean the defaults above.
type Options struct {
	InFlight  int
	AskTime   time.Duration
	StateTime time.Duration
	// Seal encrypts requestState; default a ring that ends with the process.
	Seal *seal.Ring
	// Middleware is around each request of a client, also those that reach no Handler.
	Middleware []mcp.Middleware
	// Wire sees the messages; nil for nobody.
	Wire mcp.Wire
	// Transport is how messages travel, as [mcp.WireMessage] has it.
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
	sessions *share.Budget // what is kept of all sessions and listens
	messages *share.Budget // large messages that are being answered

	capabilities newest[mcp.ClientCapabilities]
	info         newest[mcp.Implementation]
}

// New returns an Edge for the Handler.
func New(h mcp.Handler, o Options) (*Edge, error) {
	if h == nil {
		return nil, errors.New("mcp: no handler to serve")
	}
	o.InFlight = cmp.Or(max(o.InFlight, 0), defaultInFlight)
	o.AskTime = cmp.Or(max(o.AskTime, 0), defaultAskTime)
	o.StateTime = cmp.Or(max(o.StateTime, 0), defaultStateTime)
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

// MaxInFlight is how many requests of one client run at the same time.
func (e *Edge) MaxInFlight() int { return e.options.InFlight }

// A Sender takes messages that belong to one request, or to one stream of
// notifications, to the client. message is only valid during the call. For one request,
// one goroutine at a time calls Send, or Disconnect where the transport can resume.
type Sender interface {
	Send(ctx context.Context, message []byte) error
}

// From says how a request arrived.
type From struct {
	Principal *mcp.Principal
	// Caller identifies the client; see [mcp.Request.Caller].
	Caller any
	// ParamHeaders are the Mcp-Param-* headers; nil where there are no headers.
	ParamHeaders map[string][]string
	// Out takes what goes back while the request runs.
	Out Sender
	// Carrier, if not nil, hears who watches the request, before it is handled.
	Carrier Carrier
	// Way, if not nil, knows how the request came.
	Way Way
	// Sessionless: no later request belongs to the session that this one begins.
	Sessionless bool
}

// A Way knows how messages come from a client.
type Way interface {
	// Carriage has no ID.
	Carriage() mcp.Carriage
}

// carriage is how the request with the id came.
func carriage(way Way, id jsonrpc.ID) mcp.Carriage {
	var c mcp.Carriage
	if way != nil {
		c = way.Carriage()
	}
	if c.ID = string(id); id.IsString() {
		c.ID, _ = jsonrpc.Unquote([]byte(id))
	}
	return c
}

// A Carrier knows of a request, and of its response, what the messages do not say.
type Carrier interface{ Watched(by mcp.Noter) }

// A Reply is the response to a request.
type Reply struct {
	// Message is the response; nil if the client cancelled the request.
	Message []byte
	// Code is the error's code, 0 for a result.
	Code int
	// Malformed: the request was refused before a Handler saw it.
	Malformed bool
	// Needs are the scopes that the caller has to have, some of which it lacks; nil where that is not why it failed.
	Needs []string
	// Ended: the request failed as the server is shutting down.
	Ended bool
}

// failed responds with a Handler's error.
func failed(dst []byte, r *revision.Revision, id jsonrpc.ID, method string, err error) Reply {
	e := wireError(r, method, err)
	reply := Reply{Message: jsonrpc.AppendError(dst, id, e), Code: e.Code}
	if lacking, is := errors.AsType[*mcp.ScopeError](err); is {
		reply.Needs = lacking.Needs
	}
	return reply
}

// refuse responds with an error that the edge itself found.
func refuse(dst []byte, id jsonrpc.ID, e *jsonrpc.Error) Reply {
	return Reply{Message: jsonrpc.AppendError(dst, id, e), Code: e.Code, Malformed: true}
}

// Causes with which the context of a request ends.
var (
	// ErrCancelled: the client cancelled the request; nothing is sent for it any more.
	ErrCancelled = errors.New("the client cancelled the request")
	// ErrShutdown: the server ends it; a subscription gets its result.
	ErrShutdown = errors.New("the server is shutting down")
)

// wireError turns a Handler's error into what goes on the wire.
func wireError(r *revision.Revision, method string, err error) *jsonrpc.Error {
	e := mcp.ErrorOf(err)
	return r.Error(method, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data})
}

// appendReply appends the response to a request that a Handler answered.
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
	} else if kept, is := result.Value.(*revision.Kept); is && kept.Holds(result.JSON) { // else middleware changed the list
		body.Kept = kept
	}
	w := jsonrpc.NewObject(dst)
	w.String("jsonrpc", "2.0")
	w.ID("id", id)
	err = w.Encoded("result", func(dst []byte) ([]byte, error) { return r.AppendResult(dst, method, envelope, body) })
	return w.Bytes(), err
}
