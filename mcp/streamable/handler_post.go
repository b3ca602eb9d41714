package streamable

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// More headers, in the form in which net/http keeps them, so that they can be
// looked up without making them canonical each time.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"

	methodListen = "subscriptions/listen"
)

// post answers a message, or a batch of them.
func (x *exchange) post() {
	if !httpedge.IsJSON(x.r.Header["Content-Type"]) {
		x.refuse(http.StatusUnsupportedMediaType, "the body must be %s", httpedge.JSON)
		return
	}
	if accept := x.r.Header["Accept"]; !httpedge.Accepts(accept, httpedge.JSON) || !httpedge.Accepts(accept, httpedge.EventStream) {
		x.refuse(http.StatusNotAcceptable, "the Accept header must allow %s and %s", httpedge.JSON, httpedge.EventStream)
		return
	}
	body, ok := x.body()
	if !ok {
		return
	}
	if jsonrpc.IsBatch(body) {
		if x.admit("", len(body)) {
			defer x.endpoint.edge.ReleaseMessage(len(body))
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
	defer x.endpoint.edge.ReleaseMessage(size)
	if x.isModern(&m) {
		x.modern(&m)
	} else {
		x.legacy(&m)
	}
}

// parse reads the message in body; if it reports false it has sent the response. It
// is apart from post so that what parsing needs of the stack is free again while the
// request runs: a stack that outgrows 8 KiB is copied for each burst of requests.
func (x *exchange) parse(m *jsonrpc.Message, body []byte) bool {
	var fault *jsonrpc.Error
	if *m, fault = jsonrpc.Parse(body, jsonrpc.Limits{}); fault != nil {
		x.fault(http.StatusBadRequest, m.ID, fault)
		return false
	}
	return true
}

// admit admits a message of so many bytes to those that are being answered; if it
// reports false it has sent the response.
func (x *exchange) admit(id jsonrpc.ID, size int) bool {
	if x.endpoint.edge.AdmitMessage(size) {
		return true
	}
	x.unavailable(id, "too many bytes of requests in progress; try again when some have ended")
	return false
}

// isModern decides by the header and, where that is missing or legacy, by the
// body. initialize is legacy whatever the header says: the body is the truth.
func (x *exchange) isModern(m *jsonrpc.Message) bool {
	if m.Method != methodInitialize && x.namesModern() {
		return true
	}
	return m.Kind == jsonrpc.Request && edge.IsModern(m)
}

// namesModern reports whether the header names a modern revision, or one that
// nobody here knows.
func (x *exchange) namesModern() bool {
	for _, name := range x.r.Header[headerVersion] {
		if r := revision.Lookup(name); r == nil || r.Modern {
			return true
		}
	}
	return false
}

// body reads the whole body; if it reports false it has sent the response.
func (x *exchange) body() ([]byte, bool) {
	body, err := x.endpoint.bodies.Read(x.w, x.r)
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return body, true
	case errors.As(err, &large):
		x.tooLarge()
	case errors.Is(err, httpedge.ErrBusy):
		x.unavailable("", "%v", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.w.Header().Set("Connection", "close")
		x.refuse(http.StatusRequestTimeout, "the body did not come within %v", x.endpoint.options.ReadTimeout)
	default:
		x.refuse(http.StatusBadRequest, "the body could not be read: %v", err)
	}
	return nil, false
}

func (x *exchange) tooLarge() {
	x.w.Header().Set("Connection", "close") // rather than read all of it
	x.refuse(http.StatusRequestEntityTooLarge, "the body is too large: at most %d bytes", x.endpoint.options.MaxMessage)
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
