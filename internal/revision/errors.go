package revision

import (
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Error codes that only some revisions define.
const (
	CodeHeaderMismatch      = -32020
	CodeMissingCapability   = -32021
	CodeUnsupportedRevision = -32022

	codeElicitationRequired = -32042 // of revisions with URL elicitation and without rounds

	codeResourceNotFound = -32002 // used up to 2025-11-25; later revisions use the code for invalid params
)

// Error converts an error to the form that a client of the revision expects.
func (r *Revision) Error(method string, e *jsonrpc.Error) *jsonrpc.Error {
	if r.Modern {
		if e.Code == codeResourceNotFound && method == "resources/read" {
			return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: e.Message, Data: e.Data}
		}
		return e
	}
	switch {
	case method == "resources/read" && e.Code == jsonrpc.InvalidParams && jsonrpc.Get(e.Data, "uri") != nil:
		return &jsonrpc.Error{Code: codeResourceNotFound, Message: e.Message, Data: e.Data}
	case r.Tasks && MethodNamed(method).Task && e.Code == CodeMissingCapability && HasTasks(jsonrpc.Get(e.Data, "requiredCapabilities")):
		return &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: e.Message, Data: e.Data} // the tool requires a task
	case e.Code == codeElicitationRequired && !r.ElicitationModes,
		e.Code <= CodeHeaderMismatch && e.Code >= CodeUnsupportedRevision:
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: e.Message, Data: e.Data}
	}
	return e
}

// ErrorFrom converts an error of a server of the revision to the form of the modern revision.
func (r *Revision) ErrorFrom(method, subject string, e *jsonrpc.Error) *jsonrpc.Error {
	if e.Code != codeResourceNotFound || method != "resources/read" {
		return e
	}
	data := e.Data
	if jsonrpc.Get(data, "uri") == nil {
		w := jsonrpc.NewObject(nil)
		w.String("uri", subject)
		data = w.Bytes()
	}
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: e.Message, Data: data}
}

// IsModern reports whether only a server with a modern revision can have sent this error
// (basic/transports/stdio, "recognized modern error").
func IsModern(e *jsonrpc.Error) bool {
	switch e.Code {
	case CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedRevision:
		return true
	}
	return false
}

// Offered returns the supported revisions that an unsupported-revision error contains.
func Offered(e *jsonrpc.Error) []string {
	var names []string
	jsonrpc.EachElement(jsonrpc.Get(e.Data, "supported"), func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok {
			names = append(names, name)
		}
		return len(names) < 32
	})
	return names
}

// Unsupported returns the error for a modern request whose revision is not supported.
func Unsupported(requested string) *jsonrpc.Error {
	e := jsonrpc.Errorf(CodeUnsupportedRevision, "unsupported protocol version %.64q; supported: %v", requested, Modern())
	w := jsonrpc.NewObject(nil)
	writeModern(&w, "supported")
	w.String("requested", requested)
	e.Data = w.Bytes()
	return e
}

// writeModern writes a member with the names of the modern revisions.
func writeModern(w *jsonrpc.Writer, member string) {
	w.Array(member)
	for _, name := range Modern() {
		w.StringElement(name)
	}
	w.End()
}
