package streamable

import (
	"context"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/mirror"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// nothingMirrored stands for the headers of a request that mirrors no argument.
var nothingMirrored = map[string][]string{}

// modern answers a message of the modern era.
func (x *exchange) modern(m *jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		x.fault(http.StatusBadRequest, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "a response to nothing: nobody asks modern clients by requests"))
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
	switch fault := x.checkModern(m, &meta); {
	case fault != nil:
		x.fault(http.StatusBadRequest, m.ID, fault)
	case m.Method == methodListen:
		x.subscription = &subscription{*m, meta}
	default:
		x.endpoint.buffers.With(func(b []byte) []byte { return x.callModern(b, m, &meta) })
	}
}

// checkModern reads the metadata and compares it with the headers. It stands
// apart so that the goroutine of a subscription does not keep room on its stack
// for what is only needed here.
//
//go:noinline
func (x *exchange) checkModern(m *jsonrpc.Message, meta *edge.ModernMeta) *jsonrpc.Error {
	name, fault := x.modernRevision()
	if fault != nil {
		return fault
	}
	if *meta, fault = x.endpoint.edge.ReadMeta(m, name); fault != nil {
		return fault
	}
	return x.checkMirrors(m)
}

// modernRevision is the revision that the header names, which is not one from
// the future; whether it is the body's is left to be seen.
func (x *exchange) modernRevision() (string, *jsonrpc.Error) {
	name, err := x.only(headerVersion, "MCP-Protocol-Version")
	if err != nil {
		return "", mismatch("%v", err)
	}
	if revision.Lookup(name) == nil {
		return "", revision.Unsupported(name)
	}
	return name, nil
}

// checkMirrors compares the headers that repeat parts of the body with it.
func (x *exchange) checkMirrors(m *jsonrpc.Message) *jsonrpc.Error {
	method, err := x.only(headerMethod, headerMethod)
	if err != nil {
		return mismatch("%v; it must repeat the method %q", err, m.Method)
	}
	if method != m.Method {
		return mismatch("header Mcp-Method is %.80q, the method is %.80q", method, m.Method)
	}
	switch m.Method {
	case "tools/call", "prompts/get":
		return x.checkName(m.Members.Get("name"), "name")
	case "resources/read":
		return x.checkName(m.Members.Get("uri"), "uri")
	}
	return nil
}

// checkName compares the header Mcp-Name with the member that it mirrors.
func (x *exchange) checkName(raw []byte, member string) *jsonrpc.Error {
	values := x.r.Header[headerName]
	if raw == nil && len(values) == 0 {
		return nil // it is missing, and the Handler will say so
	}
	header, err := x.only(headerName, headerName)
	if err != nil {
		return mismatch("%v; it must repeat params.%s", err, member)
	}
	header, err = mirror.Decode(header)
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

// isHeaderFault reports whether the code is one that the modern revision answers
// with 400 wherever it comes from.
func isHeaderFault(code int) bool {
	return code == revision.CodeHeaderMismatch || code == revision.CodeMissingCapability || code == revision.CodeUnsupportedRevision
}

// mirrored returns the headers that repeat arguments of a tool.
func (x *exchange) mirrored(method string) map[string][]string {
	if method != "tools/call" {
		return nothingMirrored
	}
	found := nothingMirrored
	for name, values := range x.r.Header {
		if !strings.HasPrefix(name, mirror.Prefix) {
			continue
		}
		if len(found) == 0 {
			found = make(map[string][]string)
		}
		found[name] = values
	}
	return found
}

// A modernTurn is one modern request while it runs. Its context ends with the
// connection: that is how a modern client cancels.
type modernTurn struct {
	call
	ctx context.Context
	out *directReply
}

// begin registers a request that is about to run; if it returns nil it has answered.
func (x *exchange) begin(m *jsonrpc.Message) *modernTurn {
	t := &modernTurn{call: call{listens: m.Method == methodListen}}
	t.ctx, t.cancel = context.WithCancelCause(x.r.Context())
	if !x.admit(&t.call) {
		t.cancel(nil)
		return nil
	}
	t.out = &directReply{exchange: *x, lost: t.cancel}
	return t
}

func (x *exchange) end(t *modernTurn) {
	t.out.close()
	x.endpoint.calls.end(&t.call)
	t.cancel(nil)
}

// callModern hands the request on. The reply is made in b, which is returned.
func (x *exchange) callModern(b []byte, m *jsonrpc.Message, meta *edge.ModernMeta) []byte {
	t := x.begin(m)
	if t == nil {
		return b
	}
	defer x.end(t)
	reply := x.endpoint.edge.Call(t.ctx, b, m, meta, edge.From{Principal: x.principal, Mirrored: x.mirrored(m.Method), Out: t.out})
	if x.r.Context().Err() == nil {
		t.out.finish(modernStatus(&reply), reply.Message)
	}
	return reply.Message
}

// A subscription is a listen request that was checked and is still to be
// answered. As its goroutine stays for as long as the client listens, it is
// answered where nothing else lies on the stack any more.
type subscription struct {
	message jsonrpc.Message
	meta    edge.ModernMeta
}

// listenModern answers a subscription, of which there is a largest number, and
// for which no buffer is kept.
func (x *exchange) listenModern(s *subscription) {
	if !x.takeStream() {
		return
	}
	defer x.endpoint.streams.Add(-1)
	x.callModern(nil, &s.message, &s.meta)
}

// takeStream counts an open stream for news; if it reports false there are too
// many, and it has answered.
func (x *exchange) takeStream() bool {
	if x.endpoint.streams.Add(1) <= int64(x.endpoint.options.MaxStreams) {
		return true
	}
	x.endpoint.streams.Add(-1)
	x.unavailable("too many open streams: at most %d", x.endpoint.options.MaxStreams)
	return false
}
