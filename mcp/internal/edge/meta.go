package edge

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// IsModern reports whether a request carries the metadata of the modern era.
func IsModern(m *jsonrpc.Message) bool {
	meta := m.Members.Get("_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return false
	}
	members, err := jsonrpc.Index(meta, jsonrpc.Limits{})
	return err == nil && members.Get(revision.MetaProtocolVersion) != nil
}

// modernMeta reads the metadata of a modern request.
func (e *Edge) modernMeta(m *jsonrpc.Message) (*revision.Revision, mcp.Meta, *jsonrpc.Error) {
	var meta mcp.Meta
	raw := m.Members.Get("_meta")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, meta, missingMeta(revision.MetaProtocolVersion)
	}
	members, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil {
		return nil, meta, fault
	}
	name := members.Get(revision.MetaProtocolVersion)
	version, ok := jsonrpc.Unquote(name)
	if !ok {
		return nil, meta, missingMeta(revision.MetaProtocolVersion)
	}
	r := revision.Lookup(version)
	if r == nil || !r.Modern {
		return nil, meta, revision.Unsupported(version)
	}
	meta.Revision = r.Name
	if fault := e.clientMeta(&meta, &members); fault != nil {
		return nil, meta, fault
	}
	return r, meta, requestMeta(&meta, &members)
}

// clientMeta reads what the client says of itself.
func (e *Edge) clientMeta(meta *mcp.Meta, members *jsonrpc.Members) *jsonrpc.Error {
	raw := members.Get(revision.MetaClientCapabilities)
	if len(raw) == 0 || raw[0] != '{' {
		return missingMeta(revision.MetaClientCapabilities)
	}
	var err error
	if meta.Capabilities, err = e.clients.capabilitiesOf(raw); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: %s: %v", revision.MetaClientCapabilities, err)
	}
	meta.Client = e.clients.infoOf(members.Get(revision.MetaClientInfo))
	if level := members.Get(revision.MetaLogLevel); level != nil {
		text, _ := jsonrpc.Unquote(level)
		if meta.LogLevel = mcp.LogLevel(text); meta.LogLevel.Severity() == 0 {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: %s: expected a level from debug to emergency, got %.40s", revision.MetaLogLevel, level)
		}
	}
	return nil
}

// requestMeta reads what every era has: the progress token and the trace context.
func requestMeta(meta *mcp.Meta, members *jsonrpc.Members) *jsonrpc.Error {
	if token := members.Get("progressToken"); token != nil {
		if !isToken(token) {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: progressToken: expected a string or an integer, got %.40s", token)
		}
		meta.ProgressToken = token
	}
	meta.TraceParent, _ = jsonrpc.Unquote(members.Get("traceparent"))
	meta.TraceState, _ = jsonrpc.Unquote(members.Get("tracestate"))
	meta.Baggage, _ = jsonrpc.Unquote(members.Get("baggage"))
	return nil
}

func isToken(raw json.RawMessage) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

func missingMeta(key string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: %s: required on every request of a modern client; a legacy client begins with initialize", key)
}

// newRequest makes the Handler's request of a message.
func newRequest(m *jsonrpc.Message, meta mcp.Meta, from From) mcp.Request {
	req := mcp.Request{Method: m.Method, Params: m.Params, Meta: meta, Principal: from.Principal, Mirrored: from.Mirrored}
	req.Name, req.Arguments = mcp.Subject(m.Method, &m.Members)
	return req
}
