package streamable

import (
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

var jsonType = []string{httpedge.JSON} // never changed

// computedLength is up to which length net/http counts the bytes itself.
const computedLength = 2 << 10

// answer sends a message as the whole response.
func (x *exchange) answer(status int, message []byte) {
	h := x.w.Header()
	h["Content-Type"] = jsonType
	if len(message) > computedLength {
		h["Content-Length"] = []string{strconv.Itoa(len(message))}
	}
	x.w.WriteHeader(status)
	x.w.Write(message)
}

// accepted answers what needs no answer.
func (x *exchange) accepted() { x.w.WriteHeader(http.StatusAccepted) }

// fault answers with an error.
func (x *exchange) fault(status int, id jsonrpc.ID, fault *jsonrpc.Error) {
	x.answer(status, jsonrpc.AppendError(nil, id, fault))
}

// refuse answers a request that was not looked into.
func (x *exchange) refuse(status int, format string, args ...any) {
	code := jsonrpc.InvalidRequest
	if status >= http.StatusInternalServerError {
		code = jsonrpc.InternalError
	}
	x.fault(status, "", jsonrpc.Errorf(code, format, args...))
}

// unavailable refuses for now.
func (x *exchange) unavailable(format string, args ...any) {
	seconds := int(x.endpoint.options.RetryAfter.Seconds())
	x.w.Header().Set("Retry-After", strconv.Itoa(max(1, seconds)))
	x.refuse(http.StatusServiceUnavailable, format, args...)
}

// notAllowed refuses the HTTP method, and says which there are.
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

// modernStatus is the HTTP status for the response to a modern request.
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
