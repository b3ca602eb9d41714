package streamable

import (
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// leave asks the client to close the connection if it should connect anew.
func (x *exchange) leave() {
	if leaving := x.endpoint.options.Leaving; leaving != nil && leaving() {
		x.w.Header()["Connection"] = []string{"close"}
	}
}

// respond sends a message as the whole response.
func (x *exchange) respond(status int, message []byte) {
	x.leave()
	if !x.read {
		unreadbody.Close(x.w, x.r)
	}
	x.endpoint.deadlines.Respond(x.w, status, message, x.endpoint.options.WriteTimeout)
	x.noteResponse(status)
}

// Watched implements [edge.Carrier]. Several requests of a batch may call it at the same time.
func (x *exchange) Watched(by mcp.NoteObserver) {
	x.noting.Lock()
	status := x.began
	if status == 0 {
		x.observers = append(x.observers, by)
	}
	x.noting.Unlock()
	if status != 0 {
		x.endpoint.exchanges.Note(by, x.r, status, x.w.Header())
	}
}

// noteResponse passes the headers of the request and the beginning of the response to the
// observers.
func (x *exchange) noteResponse(status int) {
	x.noting.Lock()
	observers := x.observers
	x.observers, x.began = nil, status
	x.noting.Unlock()
	for _, n := range observers {
		x.endpoint.exchanges.Note(n, x.r, status, x.w.Header())
	}
}

// accepted sends the empty response to a message that has no response.
func (x *exchange) accepted() { x.respond(http.StatusAccepted, nil) }

// fault sends an error as the response.
func (x *exchange) fault(status int, id jsonrpc.ID, fault *jsonrpc.Error) {
	message := jsonrpc.AppendError(nil, id, fault)
	x.endpoint.edge.Refused(x.r.Context(), message)
	x.respond(status, message)
}

// refuse refuses a request that was not handled.
func (x *exchange) refuse(status int, format string, args ...any) {
	if status == http.StatusServiceUnavailable {
		x.unavailable("", format, args...)
		return
	}
	x.fault(status, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, format, args...))
}

// unavailable refuses the request temporarily. The id may be empty.
func (x *exchange) unavailable(id jsonrpc.ID, format string, args ...any) {
	x.retryLater()
	x.fault(http.StatusServiceUnavailable, id, jsonrpc.Errorf(jsonrpc.InternalError, format, args...))
}

// retryLater sets the header that contains the time after which the client may send the request
// again.
func (x *exchange) retryLater() {
	seconds := int(x.endpoint.options.RetryAfter.Seconds())
	x.w.Header().Set("Retry-After", strconv.Itoa(max(1, seconds)))
}

// notAllowed refuses the HTTP method, and lists the allowed methods.
func (x *exchange) notAllowed(format string, args ...any) {
	allow := "GET, POST, DELETE"
	if x.endpoint.options.Stateless || x.namesModern() {
		allow = "POST"
	}
	if x.endpoint.options.CORS {
		allow += ", OPTIONS"
	}
	x.w.Header().Set("Allow", allow)
	x.refuse(http.StatusMethodNotAllowed, format, args...)
}

// status returns the HTTP status of a response that is not a stream. If the caller lacks scopes,
// the response lists them.
func (x *exchange) status(reply *edge.Reply, status int) int {
	if reply.Ended {
		x.retryLater()
		return http.StatusServiceUnavailable
	}
	if reply.Needs == nil {
		return status
	}
	x.w.Header().Set("WWW-Authenticate", x.endpoint.options.Challenge(reply.Needs))
	return http.StatusForbidden
}

// modernStatus returns the HTTP status of the response to a modern request.
func modernStatus(reply *edge.Reply) int {
	switch {
	case reply.Code == 0:
		return http.StatusOK
	case reply.Code == jsonrpc.MethodNotFound:
		return http.StatusNotFound
	case reply.Malformed, isHeaderFault(reply.Code):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// TransportInfo implements [edge.Way].
func (x *exchange) TransportInfo() mcp.TransportInfo {
	return httpedge.TransportInfo(x.r, x.r.Header.Get(headerSession))
}
