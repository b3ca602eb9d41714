package edge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
)

// Limits and times, with their defaults.
const (
	defaultInFlight  = 1_024            // requests of one client that run at the same time
	defaultAskTime   = 10 * time.Minute // how long a legacy client may take to answer a question
	defaultStateTime = time.Hour        // how long a modern client may take between two rounds
	maxSubscriptions = 10_000           // resources one session subscribes to
	maxQuestions     = 64               // questions in one round of a request
	maxState         = 256 << 10        // bytes of requestState
	maxInterned      = 256              // distinct client descriptions kept
)

// Method and notification names that the edge itself acts on.
const (
	methodInitialize  = "initialize"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"

	notifyInitialized  = "notifications/initialized"
	notifyCancelled    = "notifications/cancelled"
	notifyProgress     = "notifications/progress"
	notifyMessage      = "notifications/message"
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
)

// Options configure an Edge; zero values mean the defaults above.
type Options struct {
	InFlight  int
	AskTime   time.Duration
	StateTime time.Duration
	// Seal locks requestState; default a ring that ends with the process.
	Seal   *seal.Ring
	Logger *slog.Logger
}

// An Edge serves one Handler to any number of clients. It is safe for concurrent use.
type Edge struct {
	handler mcp.Handler
	options Options
	log     *slog.Logger
	seal    *seal.Ring
	clients clientTable

	lowering revision.Lowering
}

// New returns an Edge for the Handler.
func New(h mcp.Handler, o Options) (*Edge, error) {
	if h == nil {
		return nil, errors.New("mcp: no handler to serve")
	}
	if o.InFlight <= 0 {
		o.InFlight = defaultInFlight
	}
	if o.AskTime <= 0 {
		o.AskTime = defaultAskTime
	}
	if o.StateTime <= 0 {
		o.StateTime = defaultStateTime
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Seal == nil {
		ring, err := seal.NewRing()
		if err != nil {
			return nil, err
		}
		o.Seal = ring
	}
	return &Edge{handler: h, options: o, log: o.Logger, seal: o.Seal}, nil
}

// MaxInFlight is how many requests of one client run at the same time.
func (e *Edge) MaxInFlight() int { return e.options.InFlight }

// A Sender takes messages that belong to one request, or to one stream of news,
// to the client. message is only valid during the call. Send is called by one
// goroutine at a time.
type Sender interface {
	Send(ctx context.Context, message []byte) error
}

// From says how a request arrived.
type From struct {
	Principal *mcp.Principal
	// Mirrored are the Mcp-Param-* headers; nil where there are no headers.
	Mirrored map[string][]string
	// Out takes what goes back while the request runs.
	Out Sender
}

// A Reply is the response to a request.
type Reply struct {
	// Message is the response, or nil where there is none to give: the client
	// cancelled the request.
	Message []byte
	// Code is the error's code, 0 for a result.
	Code int
	// Malformed: the request was refused before a Handler saw it.
	Malformed bool
}

// refuse answers with an error that the edge itself found.
func refuse(dst []byte, id jsonrpc.ID, e *jsonrpc.Error) Reply {
	return Reply{Message: jsonrpc.AppendError(dst, id, e), Code: e.Code, Malformed: true}
}

// Causes with which the context of a request ends.
var (
	// ErrCancelled: the client cancelled the request; nothing is sent for it any more.
	ErrCancelled = errors.New("the client cancelled the request")
	// ErrShutdown: the server ends it; a subscription gets its result.
	ErrShutdown = errors.New("the server is shutting down")

	errRefilter = errors.New("the subscriptions changed")
)

// wireError turns a Handler's error into what goes on the wire.
func wireError(r *revision.Revision, method string, err error) *jsonrpc.Error {
	e := mcp.ErrorOf(err)
	return r.Error(method, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data})
}

// appendReply appends the response to a request that a Handler answered.
func (e *Edge) appendReply(dst []byte, r *revision.Revision, id jsonrpc.ID, method string, result *mcp.Result) Reply {
	from := len(dst)
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
	answer := revision.Answer{Type: result.Type, Meta: result.Meta, TTL: result.TTL.Milliseconds(), Scope: string(result.Scope)}
	body := revision.Body{JSON: result.JSON, TextOnly: result.TextOnly()}
	if body.JSON == nil {
		body.Append = result.AppendJSON
	}
	out, err := r.AppendResult(dst, method, answer, body, &e.lowering)
	if err != nil {
		e := wireError(r, method, err)
		return Reply{Message: jsonrpc.AppendError(dst[:from], id, e), Code: e.Code}
	}
	return Reply{Message: append(out, '}')}
}

// A clientTable keeps the decoded form of what clients say of themselves, which
// modern clients repeat, byte for byte, with every request.
type clientTable struct {
	mu           sync.RWMutex
	capabilities map[string]*mcp.ClientCapabilities
	info         map[string]*mcp.Implementation
}

func (t *clientTable) capabilitiesOf(raw json.RawMessage) (*mcp.ClientCapabilities, error) {
	t.mu.RLock()
	c := t.capabilities[string(raw)]
	t.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	c = new(mcp.ClientCapabilities)
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.capabilities == nil || len(t.capabilities) >= maxInterned {
		t.capabilities = make(map[string]*mcp.ClientCapabilities)
	}
	t.capabilities[string(raw)] = c
	return c, nil
}

func (t *clientTable) infoOf(raw json.RawMessage) *mcp.Implementation {
	if len(raw) == 0 {
		return nil
	}
	t.mu.RLock()
	info := t.info[string(raw)]
	t.mu.RUnlock()
	if info != nil {
		return info
	}
	info = new(mcp.Implementation)
	if json.Unmarshal(raw, info) != nil {
		return nil // for display only: a client that describes itself badly is served all the same
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.info == nil || len(t.info) >= maxInterned {
		t.info = make(map[string]*mcp.Implementation)
	}
	t.info[string(raw)] = info
	return info
}
