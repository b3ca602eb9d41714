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

// A Handler answers one MCP request, whichever revision and transport carried it.
//
// A Handler speaks the modern revision only: transports translate what older
// clients say before Handle sees it, and translate its result back. A [Server]
// is a Handler, a connection to a remote server is one (see [Dial]), and so is
// whatever a [Middleware] makes of either.
//
// Handle is called from many goroutines at once. It must not change req or the
// bytes it points to, may keep them after it returned, and should return soon
// after ctx is done: ctx ends when the client cancels the request, when the
// connection is lost in a way that means cancellation, or at shutdown.
//
// A panic in Handle fails only that request: every transport answers it with an
// internal error and logs it with its stack. A panic in a goroutine that Handle
// starts ends the process, as in any program.
//
// An error that is (or wraps) an [*Error] is answered with that code; any other
// error becomes an internal error whose message is the error's text. A tool's
// own failure is not an error of the protocol: see [CallToolResult].
type Handler interface {
	Handle(ctx context.Context, req *Request) (Result, error)
}

// HandlerFunc lets an ordinary function be a [Handler].
type HandlerFunc func(ctx context.Context, req *Request) (Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Result, error) { return f(ctx, req) }

// A Middleware wraps a Handler with another that sees every request before it
// and every result after it. It works on either side of a connection.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware sees a request first.
func Chain(h Handler, m ...Middleware) Handler {
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// A Request is one MCP request in the terms of the modern revision. It is
// immutable: use [Request.Renamed] or a shallow copy to pass on a changed one.
type Request struct {
	// Method is the specification's name of the method, such as "tools/call".
	Method string

	// Params are the parameters as the client sent them, one JSON object, or nil.
	// They were checked: well-formed, valid UTF-8, no duplicate names.
	Params json.RawMessage

	// Name is what the request is about: params.name of tools/call and
	// prompts/get, params.uri of resources/read, otherwise empty.
	Name string
	sent string // Name as the client sent it, where it was Renamed

	// Arguments are params.arguments, raw, or nil.
	Arguments json.RawMessage

	// Meta is who asks and how; see [Meta].
	Meta Meta

	// Caller identifies the client: requests with equal, non-nil Callers come from
	// the same one (a legacy session, a connection on standard input and output).
	// nil where nothing connects one request with another, as on HTTP in the modern
	// revision. It is comparable, and of no other use.
	Caller any

	// Principal is the authenticated user, or nil where nobody authenticates.
	Principal *Principal

	// Session holds what a server remembers of a legacy client between its
	// requests; nil in the modern era and in process. See [Session].
	Session *Session

	// Peer is the way back to whoever asked, until Handle returns. It is never
	// nil in a request that a transport or a [Client] made.
	Peer Peer

	// Round counts the rounds of one call, from 0. A call that asks a modern client
	// something reaches a Handler again, with the responses, as a new request with
	// the next Round; a legacy client answers while the Handler waits, so its calls
	// have Round 0 only. Middleware that counts calls looks at Round 0.
	Round int

	// State is what an earlier round of the same request left behind (see
	// [SaveState]); nil where requests have one round only.
	State *State

	// ParamHeaders holds the Mcp-Param-* headers by canonical header name where the
	// transport repeats arguments in headers, so that the Handler that knows
	// the tool's schema can check them. nil on transports without headers.
	ParamHeaders map[string][]string
}

// Meta is the metadata of a request (params._meta of the modern revision; in
// the legacy era the session's, stamped on each request by the transport).
type Meta struct {
	// Revision is the protocol revision on the wire. It is for logs; Handlers
	// have no reason to look at it.
	Revision string
	// Client describes the client software; nil if it did not say. For display only.
	Client *Implementation
	// Capabilities are what the client can be asked for. Never nil in a request
	// that a transport or a Client made.
	Capabilities *ClientCapabilities
	// ProgressToken is the token under which the client wants progress, raw
	// (a JSON string or integer), or nil if it wants none.
	ProgressToken json.RawMessage
	// LogLevel is the least severe level the client wants to see log messages
	// of during this request; empty for none.
	LogLevel LogLevel
	// TraceParent, TraceState and Baggage are the W3C trace context, or empty.
	TraceParent, TraceState, Baggage string
}

// A Principal is an authenticated user or service.
type Principal struct {
	// Subject identifies the principal within its issuer; never empty.
	Subject string
	// Issuer says who vouches for Subject.
	Issuer string
	// ClientID identifies the program that acts for the subject, as far as its credentials tell: the client of an access token, a
	// key. Two clients of one subject do not get at each other's tasks and results. Empty: not said.
	ClientID string
	// Scopes are what the principal's credentials allow.
	Scopes []string
}

// NewRequest returns a request as a client in the same process would make it.
// params is the JSON object of parameters, or nil; it must be well-formed.
func NewRequest(method string, params json.RawMessage) *Request {
	req := &Request{Method: method, Params: params}
	if len(params) > 0 {
		if members, err := jsonrpc.Index(params, jsonrpc.Limits{}); err == nil {
			req.Name, req.Arguments = revision.Subject(method, &members)
		}
	}
	return req
}

// Renamed returns a copy of the request that is about another tool, prompt or
// resource: [Request.Name] and the member of Params that it stands for.
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

// SentName returns the name that the client sent: [Request.Name] before the request was Renamed, as by a gateway. It is
// the one for an error that says that there is no such thing.
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

// A Result is what a Handler answers a request with: one JSON object, either encoded already
// or as a Go value that is encoded once, into the output buffer. What a
// revision adds (resultType, ttlMs, cacheScope, _meta) is written around it and
// is never part of it.
type Result struct {
	// Type is the resultType; empty means complete.
	Type string

	// JSON is the object, ready for the wire and without the members named
	// above. It must not be changed after it was returned.
	JSON json.RawMessage

	// Value is encoded where JSON is nil. nil means the empty object.
	Value any // a *revision.Kept is not encoded, but has the forms of JSON

	// Meta is the result's _meta, one JSON object or nil.
	Meta json.RawMessage

	// TTL and Scope are the caching hints of the six cacheable results
	// (server/utilities/caching): how long the result stays fresh, and for whom.
	// The zero values mean: do not cache, and for this principal only.
	TTL   time.Duration
	Scope CacheScope
}

// A CacheScope says who may share a cached result.
type CacheScope string

// The scopes of server/utilities/caching.
const (
	CachePrivate CacheScope = "private" // one authorization context
	CachePublic  CacheScope = "public"  // everybody
)

// resultComplete and resultInputRequired are the result types of the core protocol.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
)

// An appender is a result value that encodes itself faster than reflection would.
type appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// AppendJSON appends the result's object to dst, encoding Value if need be.
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

// TextOnly reports whether the result is known to be a tool's result of nothing
// but text, which every revision can hold as it is.
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
