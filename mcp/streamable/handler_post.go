package streamable

import (
	"fmt"
	"net/http"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// More headers, in the canonical form of net/http for direct lookups.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"

	methodListen = "subscriptions/listen"
)

// post handles a message or a batch.
func (x *exchange) post() {
	if !httpedge.CanRead(x.w, x.r, x.refuse) {
		return
	}
	if accept := x.r.Header["Accept"]; !httpedge.Accepts(accept, httpedge.JSON) || !httpedge.Accepts(accept, httpedge.EventStream) {
		x.refuse(http.StatusNotAcceptable, "the Accept header must allow %s and %s", httpedge.JSON, httpedge.EventStream)
		return
	}
	x.read = true
	body, ok := x.endpoint.bodies.Receive(x.w, x.r, x, x.refuse)
	if !ok || !x.isAsPassedOn(body) {
		return
	}
	if jsonrpc.IsBatch(body) {
		if x.admit("", len(body)) {
			defer x.endpoint.edge.ReleaseMessage(len(body), x)
			x.batch(body)
		}
		return
	}
	var m jsonrpc.Message
	if !x.parse(&m, body) {
		return
	}
	size := edge.Compact(&m, len(body))
	if !x.admit(m.ID, size) {
		return
	}
	defer x.endpoint.edge.ReleaseMessage(size, x)
	if x.isModern(&m) {
		x.modern(&m)
	} else {
		x.legacy(&m)
	}
}

// parse parses the message in body. On an error, it sends the response and reports false. It is not
// a part of post, so that its stack is free while the request runs: a stack above 8 KiB is copied
// for each burst of requests.
func (x *exchange) parse(m *jsonrpc.Message, body []byte) bool {
	var fault *jsonrpc.Error
	if *m, fault = edge.Parse(body); fault != nil {
		x.fault(http.StatusBadRequest, m.ID, fault)
		return false
	}
	return true
}

// admit adds a message of size bytes to those in progress. If there are too many bytes, it sends
// the response and reports false.
func (x *exchange) admit(id jsonrpc.ID, size int) bool {
	if x.endpoint.edge.AdmitMessage(size, x) {
		return true
	}
	x.unavailable(id, "too many bytes of requests in progress; try again when some have ended")
	return false
}

// isModern reports whether a message is of the modern era. The header decides. If the header is
// missing or legacy, the body decides. An initialize is always legacy.
func (x *exchange) isModern(m *jsonrpc.Message) bool {
	return m.Method != methodInitialize && x.namesModern() || m.Kind == jsonrpc.Request && edge.IsModern(m)
}

// namesModern reports whether the header contains a modern or an unknown revision.
func (x *exchange) namesModern() bool {
	for _, name := range x.r.Header[headerVersion] {
		if r := revision.Lookup(name); r == nil || r.Modern {
			return true
		}
	}
	return false
}

// singleHeader returns the value of a header that must occur exactly once.
func (x *exchange) singleHeader(header, spelled string) (string, error) {
	switch values := x.r.Header[header]; len(values) {
	case 1:
		return values[0], nil
	case 0:
		return "", fmt.Errorf("header %s is missing", spelled)
	default:
		return "", fmt.Errorf("header %s occurs %d times", spelled, len(values))
	}
}
