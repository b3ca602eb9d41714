package streamable

import (
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/paramheader"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// noParamHeaders is the value of ParamHeaders for a request without Mcp-Param-* headers.
var noParamHeaders = map[string][]string{}

// modern handles a message of the modern era.
func (x *exchange) modern(m *jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		x.fault(http.StatusBadRequest, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "unexpected response: the server sends no requests to modern clients"))
		return
	case jsonrpc.Notification:
		if _, fault := x.modernRevision(); fault != nil {
			x.fault(http.StatusBadRequest, "", fault)
			return
		}
		x.accepted()
		return
	}
	var meta edge.ModernMeta
	fault := x.checkModern(m, &meta)
	switch {
	case fault != nil:
		x.fault(http.StatusBadRequest, m.ID, fault)
		return
	case x.endpoint.peers == nil:
	case x.endpoint.edge.Elsewhere(m, x.principal):
		if x.roundElsewhere(m) {
			return
		}
	case x.isPassedOn():
		x.w.WriteHeader(http.StatusProcessing) // see roundElsewhere
	}
	switch {
	case m.Method == methodListen:
		x.callModern(nil, m, &meta) // a stream lasts long, so it keeps no buffer
	default:
		x.endpoint.buffers.With(func(b []byte) []byte { return x.callModern(b, m, &meta) })
	}
}

// checkModern reads the metadata of a message and compares it with the headers.
func (x *exchange) checkModern(m *jsonrpc.Message, meta *edge.ModernMeta) *jsonrpc.Error {
	name, fault := x.modernRevision()
	if fault != nil {
		return fault
	}
	if *meta, fault = x.endpoint.edge.ReadMeta(m, name); fault != nil {
		return fault
	}
	return x.checkHeaders(m)
}

// modernRevision returns the revision in the header, which must be known. ReadMeta compares it with
// the revision in the body.
func (x *exchange) modernRevision() (string, *jsonrpc.Error) {
	name, err := x.singleHeader(headerVersion, "MCP-Protocol-Version")
	if err != nil {
		return "", mismatch("%v", err)
	}
	if revision.Lookup(name) == nil {
		return "", revision.Unsupported(name)
	}
	return name, nil
}

// checkHeaders compares the headers that repeat parts of the body. It also collects the headers
// that repeat arguments, for the Handler to check.
func (x *exchange) checkHeaders(m *jsonrpc.Message) *jsonrpc.Error {
	method, err := x.singleHeader(headerMethod, headerMethod)
	if err != nil {
		return mismatch("%v; it must repeat the method %q", err, m.Method)
	}
	if method != m.Method {
		return mismatch("header Mcp-Method is %.80q, the method is %.80q", method, m.Method)
	}
	x.paramHeaders = noParamHeaders
	if m.Method == "tools/call" {
		found := noParamHeaders
		for name, values := range x.r.Header {
			if !strings.HasPrefix(name, paramheader.Prefix) {
				continue
			}
			if len(found) == 0 {
				found = make(map[string][]string)
			}
			found[name] = values
		}
		x.paramHeaders = found
	}
	if known := revision.MethodNamed(m.Method); known.Header {
		return x.checkName(m.Members.Get(known.Subject), known.Subject)
	}
	return nil
}

// checkName compares the header Mcp-Name with the member that it repeats.
func (x *exchange) checkName(raw []byte, member string) *jsonrpc.Error {
	values := x.r.Header[headerName]
	if raw == nil && len(values) == 0 {
		return nil // the Handler returns the error for the missing member
	}
	header, err := x.singleHeader(headerName, headerName)
	if err != nil {
		return mismatch("%v; it must repeat params.%s", err, member)
	}
	header, err = paramheader.Decode(header)
	if err != nil {
		return mismatch("header Mcp-Name: %v", err)
	}
	if name, ok := jsonrpc.Unquote(raw); !ok || name != header {
		return mismatch("header Mcp-Name is %.80q, params.%s is %.80s", header, member, raw)
	}
	return nil
}

func mismatch(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(revision.CodeHeaderMismatch, format, args...)
}

// isHeaderFault reports whether the modern revision requires status 400 for an error with this
// code, even if a Handler returned it.
func isHeaderFault(code int) bool {
	return code == revision.CodeHeaderMismatch || code == revision.CodeMissingCapability || code == revision.CodeUnsupportedRevision
}

// callModern passes the request to the edge. It appends the reply to b and returns the result. The
// context ends with the connection, as a modern client cancels by closing it.
func (x *exchange) callModern(b []byte, m *jsonrpc.Message, meta *edge.ModernMeta) []byte {
	c := &call{listens: m.Method == methodListen}
	if caller := x.Caller(); c.listens { // subscriptions have a separate limit
		c.streams = caller
	} else {
		c.caller = caller
	}
	ctx, ok := x.enter(x.context(), c, m.ID)
	if !ok {
		return b
	}
	defer x.endpoint.end(c)
	out := &directReply{exchange: x, call: c}
	defer out.close()
	reply := x.endpoint.edge.Call(ctx, b, m, meta, edge.From{Principal: x.principal, Carrier: x, Way: x, ParamHeaders: x.paramHeaders, Out: out})
	if x.r.Context().Err() == nil {
		out.finish(out.status(&reply, modernStatus(&reply)), reply.Message)
	} else {
		x.noteResponse(0) // the headers of a cancelled request are also noted
	}
	return reply.Message
}
