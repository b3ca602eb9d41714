package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/unanswered"
)

// Error codes of JSON-RPC 2.0 and of the protocol (basic/index, schema.ts).
const (
	CodeParseError     = jsonrpc.ParseError
	CodeInvalidRequest = jsonrpc.InvalidRequest
	CodeMethodNotFound = jsonrpc.MethodNotFound
	CodeInvalidParams  = jsonrpc.InvalidParams
	CodeInternalError  = jsonrpc.InternalError

	// CodeHeaderMismatch is the code for an HTTP header that should repeat a value in the body, but
	// is missing, malformed or different.
	CodeHeaderMismatch = -32020
	// CodeMissingCapability is the code for a request that needs a client capability which the
	// client did not declare.
	CodeMissingCapability = -32021
	// CodeUnsupportedRevision is the code for a requested revision that the server does not
	// support.
	CodeUnsupportedRevision = -32022
)

// An Error is a protocol error: a response with an error in place of a result. A Handler that
// returns an Error decides the code. A client returns an Error if the server sent one.
type Error struct {
	// Code is one of the Code constants, or a private code outside -32768…-32000.
	Code int
	// Message is one sentence for users and models.
	Message string
	// Data holds further details as JSON, or nil.
	Data json.RawMessage

	// Server is the name of the server that sent the error. It is empty for errors of this process.
	// It is not sent to clients.
	Server string
}

// Error returns the message and the code, after the server's name if there is one.
func (e *Error) Error() string {
	if e.Server != "" {
		return fmt.Sprintf("server %q: %s (code %d)", e.Server, e.Message, e.Code)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an [*Error] with the same code, for example in errors.Is(err,
// &mcp.Error{Code: mcp.CodeMethodNotFound}). If target has a message, the message of e must also be
// equal to it, or begin with it and a colon.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Code != e.Code {
		return false
	}
	rest, same := strings.CutPrefix(e.Message, t.Message)
	return t.Message == "" || same && (rest == "" || rest[0] == ':')
}

// ErrBusy is the error of a server that already runs its maximum number of requests. The server did
// not start the request, so the client can send it again later.
var ErrBusy = &Error{Code: CodeInternalError, Message: "too many requests at once"}

// Errorf returns an [*Error] with the given code and message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A RevisionError reports that a server refused the revision in [ClientOptions.Revision], or that
// no such revision is known. If the server ends or fails during the negotiation, the error is a
// different one.
type RevisionError struct {
	// Server is the server's name.
	Server string
	// Revision is the refused revision.
	Revision string
	// Err is the reason for the refusal. It is nil if the server supports only other revisions.
	Err error
}

// Error names the server and the revision.
func (e *RevisionError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("server %q does not support %s", e.Server, e.Revision)
	}
	return fmt.Sprintf("server %q does not support %s: %v", e.Server, e.Revision, e.Err)
}

// Unwrap returns the reason for the refusal.
func (e *RevisionError) Unwrap() error { return e.Err }

// A ScopeError reports that the credentials of [Request.Principal] do not allow a request. Over
// HTTP, the response has status 403 and a challenge that lists the scopes, so that clients can
// request them (basic/authorization, step-up).
type ScopeError struct {
	// Needs lists all scopes that the request requires.
	Needs []string
}

// Error names the scopes.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("this needs the scopes %q, and your credentials do not have all of them", e.Needs)
}

// Unwrap returns the protocol error for the client.
func (e *ScopeError) Unwrap() error {
	return &Error{Code: CodeInvalidRequest, Message: e.Error(), Data: refused.With(nil, refused.Scope)}
}

// ErrorOf converts any error to a protocol error. It returns the [*Error] in the chain of err. If
// there is none, it returns an internal error with the text of err. If a server behind this process
// did not respond, the data of the error contain that reason.
func ErrorOf(err error) *Error {
	var e *Error
	responded, why := errors.As(err, &e), unanswered.Of(err)
	switch {
	case responded && why != unanswered.Connection: // the response itself may be about a deadline of the server
		return e
	case responded:
		e = &Error{Code: e.Code, Message: e.Message, Data: e.Data, Server: e.Server}
	case why == unanswered.Timeout:
		e = Errorf(CodeInternalError, "timed out: %v", err)
	default:
		e = Errorf(CodeInternalError, "%v", err)
	}
	if why != "" {
		e.Data = unanswered.With(e.Data, why)
	}
	return e
}

// notFound returns the error for a resource that does not exist: invalid params with the URI as
// data (server/resources). Older revisions have a separate code, which transports use.
func notFound(uri string) *Error {
	e := Errorf(CodeInvalidParams, "resource not found: %s", uri)
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	e.Data = w.Bytes()
	return e
}

// missingCapability returns the error for a request of the server that needs a capability which the
// client did not declare.
func missingCapability(required *ClientCapabilities) *Error {
	data, _ := json.Marshal(struct {
		Required *ClientCapabilities `json:"requiredCapabilities"`
	}{required})
	e := Errorf(CodeMissingCapability, "this needs a capability that the client did not declare: %s", data)
	e.Data = data
	return e
}
