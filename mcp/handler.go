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

// A Handler handles one MCP request, whichever revision and transport carried it.
//
// A Handler supports the modern revision only: transports translate requests of older clients
// before they call Handle, and translate the result back. A [Server] is a Handler. So are a
// connection to a remote server (see [Dial]) and the result of a [Middleware].
//
// Handle is called from many goroutines at once. It must not change req or the bytes it points to,
// and may keep them after it returned. It should return soon after ctx is done. ctx ends when the
// client cancels the request, when the connection is lost in a way that means cancellation, or at
// shutdown.
//
// A panic in Handle fails only that request: every transport responds with an internal error and
// logs the stack. A panic in a goroutine that Handle starts ends the process, as in any program.
//
// An error that is or wraps an [*Error] is sent with its code. Any other error becomes an internal
// error whose message is the error's text. A tool's own failure is a result, not a protocol error:
// see [CallToolResult].
type Handler interface {
	Handle(ctx context.Context, req *Request) (Result, error)
}

// HandlerFunc is an adapter that makes a [Handler] of an ordinary function.
type HandlerFunc func(ctx context.Context, req *Request) (Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Result, error) { return f(ctx, req) }

// A Middleware wraps a Handler with another that sees every request before it and every result
// after it. It works on either side of a connection.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware sees a request first.
func Chain(h Handler, m ...Middleware) Handler {
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// A Request is one MCP request in the form of the modern revision. It is immutable: to pass on a
// changed one, use [Request.Renamed] or a shallow copy.
type Request struct {
	// Method is the method of the request in the specification, such as "tools/call".
	Method string

	// Params holds the parameters as the client sent them: one JSON object, or nil. They were
	// checked: well-formed, valid UTF-8, no duplicate names.
	Params json.RawMessage

	// Name is the subject of the request: params.name of tools/call and prompts/get, params.uri of
	// resources/read, otherwise empty.
	Name string
	sent string // Name as the client sent it, if Renamed changed it

	// Arguments are params.arguments, raw, or nil.
	Arguments json.RawMessage

	// Meta is the metadata of the request; see [Meta].
	Meta Meta

	// Caller identifies the client. Requests with equal, non-nil Callers come from the same client:
	// a legacy session, or a connection on standard input and output. It is nil if nothing connects
	// requests with each other, as over HTTP in the modern revision. Use it only for comparison.
	Caller any

	// Principal is the authenticated user, or nil without authentication.
	Principal *Principal

	// Session holds a server's state for a legacy client between its requests. It is nil in the
	// modern era and in process. See [Session].
	Session *Session

	// Peer sends notifications and requests to the client until Handle returns. It is never nil in
	// a request made by a transport or a [Client].
	Peer Peer

	// Round counts the rounds of one call, from 0. A call that sends a request to a modern client
	// reaches the Handler again, with the responses, as a new request with the next Round. A legacy
	// client responds while the Handler waits, so its calls have Round 0 only. Middleware that
	// counts calls counts those with Round 0.
	Round int

	// State holds the data that an earlier round of the same request saved (see [SaveState]). It is
	// nil if the request has one round only.
	State *State

	// ParamHeaders holds the Mcp-Param-* headers by canonical name if the transport repeats
	// arguments in headers. The Handler that has the tool's schema checks them. It is nil on
	// transports without headers.
	ParamHeaders map[string][]string
}

// Meta is the metadata of a request: params._meta of the modern revision. In the legacy era the
// transport copies it from the session into each request.
type Meta struct {
	// Revision is the protocol revision on the wire. It is for logs; Handlers need not look at it.
	Revision string
	// Client describes the client software, or is nil if unknown. It is for display only.
	Client *Implementation
	// Capabilities holds the capabilities that the client declared. It is never nil in a request
	// made by a transport or a Client.
	Capabilities *ClientCapabilities
	// ProgressToken is the token for progress notifications, as raw JSON (a string or an integer).
	// It is nil if the client wants none.
	ProgressToken json.RawMessage
	// LogLevel is the least severe level of log messages that the client wants during this request.
	// It is empty for none.
	LogLevel LogLevel
	// TraceParent, TraceState and Baggage hold the W3C trace context, or are empty.
	TraceParent, TraceState, Baggage string
}

// A Principal is an authenticated user or service.
type Principal struct {
	// Subject identifies the principal within its issuer; never empty.
	Subject string
	// Issuer is the authority that vouches for Subject.
	Issuer string
	// ClientID identifies the program that acts for the subject, as far as the credentials do: the
	// client of an access token, or a key. Two clients of one subject cannot access each other's
	// tasks and results. It may be empty.
	ClientID string
	// Scopes lists the scopes of the principal's credentials.
	Scopes []string
	// Groups lists the principal's groups, as far as the credentials or the issuer name them.
	Groups []string
}

// NewRequest returns a request like one of a client in the same process. params is the JSON object
// of parameters, or nil; it must be well-formed.
func NewRequest(method string, params json.RawMessage) *Request {
	req := &Request{Method: method, Params: params}
	if len(params) > 0 {
		if members, err := jsonrpc.Index(params, jsonrpc.Limits{}); err == nil {
			req.Name, req.Arguments = revision.Subject(method, &members)
		}
	}
	return req
}

// Renamed returns a copy of the request with another tool, prompt or resource as its subject. It
// changes [Request.Name] and the member of Params that holds it.
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

// SentName returns the name that the client sent: [Request.Name] before a gateway or other code
// called Renamed. Use it in errors about an unknown name.
func (r *Request) SentName() string { return cmp.Or(r.sent, r.Name) }

// WithArguments returns a copy of the request with other arguments, one JSON object.
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

// A Result is a Handler's response to a request: one JSON object. It is either encoded already or a
// Go value that is encoded once, into the output buffer. Members that a revision adds (resultType,
// ttlMs, cacheScope, _meta) are written separately and are never part of the object.
type Result struct {
	// Type is the resultType; empty means complete.
	Type string

	// JSON is the object, ready to send and without the members named above. It must not be changed
	// after it was returned.
	JSON json.RawMessage

	// Value is encoded if JSON is nil. A nil Value means the empty object.
	Value any

	// Meta is the result's _meta, one JSON object or nil.
	Meta json.RawMessage

	// TTL and Scope are the caching hints of the six cacheable results (server/utilities/caching):
	// how long the result stays fresh, and for whom. The zero values mean that it must not be
	// cached, and is for this principal only.
	TTL   time.Duration
	Scope CacheScope
}

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

// An appender is a result value that encodes itself, which is faster than reflection.
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

// TextOnly reports whether the result is known to be a tool's result with text only, which needs no
// lowering for any revision.
func (r *Result) TextOnly() bool {
	switch v := r.Value.(type) {
	case textResult:
		return r.JSON == nil
	case *CallToolResult:
		return r.JSON == nil && v.StructuredContent == nil && !slices.ContainsFunc(v.Content, func(c Content) bool { return c.Type != ContentText })
	}
	return false
}

// Encoded returns the result's object as bytes.
func (r *Result) Encoded() (json.RawMessage, error) {
	if r.JSON != nil {
		return r.JSON, nil
	}
	return r.AppendJSON(nil)
}
