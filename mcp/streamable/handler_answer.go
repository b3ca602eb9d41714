package streamable

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// Answers are made in buffers that are used again, unless they grew large.
const (
	bufferSize = 2 << 10
	bufferKept = 64 << 10
)

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize)
	return &b
}}

// withBuffer calls f with a buffer; what f returns is the buffer, grown or not.
func withBuffer(f func(b []byte) []byte) {
	b := buffers.Get().(*[]byte)
	if grown := f((*b)[:0]); cap(grown) > cap(*b) && cap(grown) <= bufferKept {
		*b = grown
	}
	buffers.Put(b)
}

// Header values that are never changed.
var (
	jsonType   = []string{mediaJSON}
	eventsType = []string{mediaEvents}
)

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
