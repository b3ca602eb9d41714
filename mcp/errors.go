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

	// CodeHeaderMismatch: a header that repeats the body is missing, malformed or different.
	CodeHeaderMismatch = -32020
	// CodeMissingCapability: the request needs a client capability that was not declared.
	CodeMissingCapability = -32021
	// CodeUnsupportedRevision: the server does not speak the requested revision.
	CodeUnsupportedRevision = -32022
)

// An Error is a protocol error: a response of its own, in place of a result. A
// Handler returns one to choose the code; a client gets one when the server
// answered with it.
type Error struct {
	// Code is one of the Code constants, or a private code outside -32768…-32000.
	Code int
	// Message is one sentence for a person or a model.
	Message string
	// Data is further detail as JSON, or nil.
	Data json.RawMessage

	// Server names the server that answered with this error, where there is more
	// than one; empty for errors of this process. It does not travel.
	Server string
}

// Error returns the message, with the server's name before it if there is one.
func (e *Error) Error() string {
	if e.Server != "" {
		return fmt.Sprintf("server %q: %s (code %d)", e.Server, e.Message, e.Code)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an [*Error] with the same code, so that
// errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) works. If target has a
// message, that of e is the same, or begins with it and a colon.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Code != e.Code {
		return false
	}
	rest, same := strings.CutPrefix(e.Message, t.Message)
	return t.Message == "" || same && (rest == "" || rest[0] == ':')
}

// ErrBusy is the error of a server that runs as many requests as it may. It has
// not begun with the request, which can be made again when others are done.
var ErrBusy = &Error{Code: CodeInternalError, Message: "too many requests at once"}

// Errorf returns an [*Error] with the given code and message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A RevisionError says that a server refuses the revision of [ClientOptions.Revision]. It is no RevisionError where the
// server ends, or fails, while it is asked.
type RevisionError struct {
	// Server is the server's name.
	Server string
	// Revision is the one that it refuses.
	Revision string
	// Err is how; nil if it offers others.
	Err error
}

// Error names the server and the revision.
func (e *RevisionError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("server %q does not speak %s", e.Server, e.Revision)
	}
	return fmt.Sprintf("server %q does not speak %s: %v", e.Server, e.Revision, e.Err)
}

// Unwrap is how the server refuses.
func (e *RevisionError) Unwrap() error { return e.Err }

// A ScopeError says that the credentials of [Request.Principal] do not allow a request. Over HTTP the response has
// the status 403 and a challenge that names the scopes, so that clients can get them (basic/authorization, step-up).
type ScopeError struct {
	// Needs are all scopes that the request needs.
	Needs []string
}

// Error names the scopes.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("this needs the scopes %q, and your credentials do not have all of them", e.Needs)
}

// Unwrap is the error that the client sees.
func (e *ScopeError) Unwrap() error {
	return &Error{Code: CodeInvalidRequest, Message: e.Error(), Data: refused.With(nil, refused.Scope)}
}

// ErrorOf is the one map from Go errors to protocol errors: err itself if it is
// or wraps an [*Error], else an internal error with err's text. The data say so where
// a server behind this process did not respond.
func ErrorOf(err error) *Error {
	var e *Error
	responded, why := errors.As(err, &e), unanswered.Of(err)
	switch {
	case responded && why != unanswered.Connection: // what it responded with may be about a deadline of its own
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

// notFound is the error for a resource that does not exist: invalid params with
// the URI as data (server/resources; older revisions have a code of their own).
func notFound(uri string) *Error {
	e := Errorf(CodeInvalidParams, "resource not found: %s", uri)
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	e.Data = w.Bytes()
	return e
}

// missingCapability is the error for a request that the client did not declare
// it could be asked.
func missingCapability(required *ClientCapabilities) *Error {
	data, _ := json.Marshal(struct {
		Required *ClientCapabilities `json:"requiredCapabilities"`
	}{required})
	e := Errorf(CodeMissingCapability, "the client did not declare the capability this needs: %s", data)
	e.Data = data
	return e
}
