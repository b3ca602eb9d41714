package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
)

// A Handler handles one MCP request of any revision and transport.
//
// A Handler supports only the modern revision. Transports translate requests of older clients
// before they call Handle, and translate the result back. A [Server] is a Handler, and so are a
// connection to a remote server (see [Dial]) and the result of a [Middleware].
//
// Handle is called from several goroutines at the same time. It must not change req or the bytes
// that req refers to, but may keep them after it returned. It should return soon after ctx is done.
// The context ends when the client cancels the request, at shutdown, and when the connection is
// lost in a way that means cancellation.
//
// A panic in Handle fails only that request: every transport responds with an internal error and
// logs the stack. A panic in a goroutine that Handle starts ends the process, as in any program.
//
// If the error of Handle is or wraps an [*Error], that error is sent with its code. Any other error
// becomes an internal error with the same text. If a tool itself fails, that is a result and not a
// protocol error; see [CallToolResult].
type Handler interface {
	Handle(ctx context.Context, req *Request) (Result, error)
}

// HandlerFunc is an adapter that makes a function a [Handler].
type HandlerFunc func(ctx context.Context, req *Request) (Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Result, error) { return f(ctx, req) }

// A Middleware returns a Handler that wraps another one. It sees every request before the wrapped
// Handler, and every result after it. It works on either side of a connection.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware sees a request first.
func Chain(h Handler, m ...Middleware) Handler {
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// A Request is one MCP request in the form of the modern revision. It is immutable. To pass on a
// changed request, use [Request.Renamed], [Request.WithParams] or a shallow copy.
type Request struct {
	// Method is the method, such as "tools/call".
	Method string

	// Params holds the parameters as the client sent them: one JSON object, or nil. The transport
	// has checked that they are well-formed, valid UTF-8, and without duplicate names.
	Params json.RawMessage

	// Name is the name, URI or task id that the request is about, such as params.name of tools/call
	// and params.uri of resources/read. It is empty if there is none.
	Name string
	sent string // Name as the client sent it, if Renamed changed it

	// Arguments holds the raw JSON of params.arguments, or nil.
	Arguments json.RawMessage

	// Meta is the metadata of the request; see [Meta].
	Meta Meta

	// Caller identifies the client. Requests with equal Callers that are not nil come from the same
	// client: a legacy session, or a connection on standard input and output. Caller is nil if
	// requests cannot be assigned to a client, as over HTTP in the modern revision. Use it only for
	// comparison.
	Caller any

	// Principal is the authenticated user, or nil without authentication.
	Principal *Principal

	// Session stores a server's state for a legacy client between requests. It is nil for modern
	// requests and requests in the same process. See [Session].
	Session *Session

	// Peer sends notifications and requests to the client until Handle returns. It is never nil in
	// a request from a transport or a [Client].
	Peer Peer

	// Round numbers the rounds of one call, from 0. If a call sends a request to a modern client,
	// the responses arrive as a new request with the next Round. A legacy client responds while the
	// Handler waits, so its calls have only Round 0. Middleware that counts calls should count
	// requests with Round 0.
	Round int

	// State holds the data that an earlier round of the request saved (see [SaveForNextRound]). It
	// is nil if the request can have one round only.
	State *State

	// ParamHeaders holds the Mcp-Param-* headers by canonical name, if the transport repeats
	// arguments in headers. The Handler that has the tool's schema must check them. It is nil on
	// transports without headers.
	ParamHeaders map[string][]string
}

// Meta is the metadata of a request: params._meta in the modern revision. In the legacy era, the
// transport copies it from the session into each request.
type Meta struct {
	// Revision is the protocol revision of the message. It is meant for logs; Handlers need not
	// check it.
	Revision string
	// Client describes the client software. It is nil if unknown, and meant for display only.
	Client *Implementation
	// Capabilities holds the capabilities that the client declared. It is never nil in a request
	// from a transport or a Client.
	Capabilities *ClientCapabilities
	// ProgressToken is the token for progress notifications as raw JSON, a string or an integer. It
	// is nil if the client wants no such notifications.
	ProgressToken json.RawMessage
	// LogLevel is the least severe level of log messages that the client wants during this request.
	// If it is empty, the client wants none.
	LogLevel LogLevel
	// TraceParent, TraceState and Baggage hold the W3C trace context, or are empty.
	TraceParent, TraceState, Baggage string
}

// A Principal is an authenticated user or service.
type Principal struct {
	// Subject identifies the principal within its issuer; never empty.
	Subject string
	// Issuer is the authority that issued Subject.
	Issuer string
	// ClientID identifies the program that acts for the subject, as far as the credentials identify
	// it: the client of an access token, or a key. It may be empty. Two clients of one subject
	// cannot access each other's tasks and results.
	ClientID string
	// Scopes lists the scopes of the principal's credentials.
	Scopes []string
	// Groups lists the principal's groups, as far as the credentials or the issuer name them.
	Groups []string
}

// NewRequest returns a request with the given parameters, for a Handler in the same process. The
// params are a well-formed JSON object or nil.
func NewRequest(method string, params json.RawMessage) *Request {
	req := &Request{Method: method, Params: params}
	if len(params) > 0 {
		if members, err := jsonrpc.Index(params, jsonrpc.Limits{}); err == nil {
			req.Name, req.Arguments = revision.Subject(method, &members)
		}
	}
	return req
}

// Renamed returns a copy of the request whose subject is another tool, prompt or resource. It
// changes [Request.Name] and the same member of Params.
func (r *Request) Renamed(name string) *Request {
	member := "name"
	if r.Method == "resources/read" {
		member = "uri"
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(r.Params)+len(name)+16))
	w.Members(r.Params, member)
	w.String(member, name)
	copied := *r
	copied.sent, copied.Name, copied.Params = r.SentName(), name, w.Bytes()
	return &copied
}

// SentName returns the name that the client sent, before code such as a gateway called Renamed. Use
// it in errors about an unknown name.
func (r *Request) SentName() string { return cmp.Or(r.sent, r.Name) }

// WithArguments returns a copy of the request with other arguments, which are one JSON object.
func (r *Request) WithArguments(arguments json.RawMessage) *Request {
	return r.WithParams(jsonrpc.With(orEmptyObject(r.Params), "arguments", arguments))
}

// WithParams returns a copy of the request with other parameters.
func (r *Request) WithParams(params json.RawMessage) *Request {
	fresh := NewRequest(r.Method, params)
	copied := *r
	copied.Params, copied.Name, copied.Arguments = fresh.Params, fresh.Name, fresh.Arguments
	return &copied
}

// A Result is a Handler's response to a request: one JSON object. The object is either encoded
// already or a Go value that is encoded once, into the output buffer. The object never contains
// members that depend on the revision (resultType, ttlMs, cacheScope, _meta); these are written
// separately.
type Result struct {
	// Type is the resultType; empty means "complete".
	Type string

	// JSON is the encoded object, without the members named above. It must not change after the
	// Result was returned.
	JSON json.RawMessage

	// Value is encoded if JSON is nil. A nil Value means an empty object.
	Value any

	// Meta is the result's _meta: one JSON object, or nil.
	Meta json.RawMessage

	// TTL and Scope are the caching hints of the cacheable results (server/utilities/caching). TTL
	// is how long the result stays fresh, and Scope decides which clients may share it. The zero
	// values mean that the result must not be cached, and is meant for this principal only.
	TTL   time.Duration
	Scope CacheScope
}

// IsComplete reports whether the result is the final one of its request. The result of a Handler in
// this process then has an empty Type, and one from a server the Type "complete".
func (r *Result) IsComplete() bool { return r.Type == "" || r.Type == resultComplete }

// A CacheScope decides which clients may share a cached result.
type CacheScope string

// The scopes of server/utilities/caching.
const (
	CachePrivate CacheScope = "private" // for one authorization context
	CachePublic  CacheScope = "public"  // for all clients
)

// The result types of the core protocol.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
)

// An appender is a result value that encodes itself, without reflection.
type appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// AppendJSON appends the result's object to dst. It encodes Value if JSON is nil.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	switch v := r.Value.(type) {
	case nil, *revision.Kept:
		if r.JSON == nil {
			return append(dst, `{}`...), nil
		}
		return append(dst, r.JSON...), nil
	case appender:
		if r.JSON == nil {
			return v.AppendJSON(dst)
		}
	}
	if r.JSON != nil {
		return append(dst, r.JSON...), nil
	}
	return schema.Encode(dst, r.Value)
}

// TextOnly reports whether the result is certainly a tool's result with only text. Such a result is
// the same in every revision.
func (r *Result) TextOnly() bool {
	switch v := r.Value.(type) {
	case textResult:
		return r.JSON == nil
	case *CallToolResult:
		return r.JSON == nil && v.StructuredContent == nil && !slices.ContainsFunc(v.Content, func(c Content) bool { return c.Type != ContentText })
	}
	return false
}

// Encoded returns the encoded object of the result.
func (r *Result) Encoded() (json.RawMessage, error) {
	if r.JSON != nil {
		return r.JSON, nil
	}
	return r.AppendJSON(nil)
}
