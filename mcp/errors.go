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

	// CodeHeaderMismatch is for a header that should repeat the body but is missing, malformed or
	// different.
	CodeHeaderMismatch = -32020
	// CodeMissingCapability is for a request that needs a client capability which was not declared.
	CodeMissingCapability = -32021
	// CodeUnsupportedRevision is for a server that does not speak the requested revision.
	CodeUnsupportedRevision = -32022
)

// An Error is a protocol error: a response that takes the place of a result. A Handler returns one
// to choose the code. A client gets one when the server responds with it.
type Error struct {
	// Code is one of the Code constants, or a private code outside -32768…-32000.
	Code int
	// Message is one sentence for a user or a model.
	Message string
	// Data holds further details as JSON, or nil.
	Data json.RawMessage

	// Server names the server that sent this error, if there are several. It is empty for errors of
	// this process, and is not sent to clients.
	Server string
}

// Error returns the message, prefixed with the server's name if there is one.
func (e *Error) Error() string {
	if e.Server != "" {
		return fmt.Sprintf("server %q: %s (code %d)", e.Server, e.Message, e.Code)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an [*Error] with the same code, so that errors.Is(err,
// &mcp.Error{Code: mcp.CodeMethodNotFound}) works. If target has a message, the message of e must
// equal it or begin with it and a colon.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Code != e.Code {
		return false
	}
	rest, same := strings.CutPrefix(e.Message, t.Message)
	return t.Message == "" || same && (rest == "" || rest[0] == ':')
}

// ErrBusy is the error of a server that already runs its maximum of requests. It has not started
// the request, so the request can be sent again later.
var ErrBusy = &Error{Code: CodeInternalError, Message: "too many requests at once"}

// Errorf returns an [*Error] with the given code and message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A RevisionError reports that a server refuses the revision of [ClientOptions.Revision]. If the
// server ends or fails during the negotiation, the error is a different one.
type RevisionError struct {
	// Server is the server's name.
	Server string
	// Revision is the refused revision.
	Revision string
	// Err is the reason of the refusal. It is nil if the server offers other revisions.
	Err error
}

// Error names the server and the revision.
func (e *RevisionError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("server %q does not speak %s", e.Server, e.Revision)
	}
	return fmt.Sprintf("server %q does not speak %s: %v", e.Server, e.Revision, e.Err)
}

// Unwrap returns the reason of the refusal.
func (e *RevisionError) Unwrap() error { return e.Err }

// A ScopeError reports that the credentials of [Request.Principal] do not allow a request. Over
// HTTP the response has status 403 and a challenge that names the scopes, so that clients can
// request them (basic/authorization, step-up).
type ScopeError struct {
	// Needs lists all scopes that the request needs.
	Needs []string
}

// Error names the scopes.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("this needs the scopes %q, and your credentials do not have all of them", e.Needs)
}

// Unwrap returns the error that the client receives.
func (e *ScopeError) Unwrap() error {
	return &Error{Code: CodeInvalidRequest, Message: e.Error(), Data: refused.With(nil, refused.Scope)}
}

// ErrorOf is the one conversion of Go errors to protocol errors. It returns err itself if it is or
// wraps an [*Error], else an internal error with err's text. If a server behind this process did
// not respond, the error's data include that.
func ErrorOf(err error) *Error {
	var e *Error
	responded, why := errors.As(err, &e), unanswered.Of(err)
	switch {
	case responded && why != unanswered.Connection: // the response itself may be about a deadline of the server's own
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
// data (server/resources; older revisions have a code of their own).
func notFound(uri string) *Error {
	e := Errorf(CodeInvalidParams, "resource not found: %s", uri)
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	e.Data = w.Bytes()
	return e
}

// missingCapability returns the error for a server request that needs a capability which the client
// did not declare.
func missingCapability(required *ClientCapabilities) *Error {
	data, _ := json.Marshal(struct {
		Required *ClientCapabilities `json:"requiredCapabilities"`
	}{required})
	e := Errorf(CodeMissingCapability, "the client did not declare the capability this needs: %s", data)
	e.Data = data
	return e
}
