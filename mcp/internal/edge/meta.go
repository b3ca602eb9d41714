package edge

import (
	"bytes"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// IsModern reports whether a request has the metadata of the modern era.
func IsModern(m *jsonrpc.Message) bool {
	meta := m.Members.Get("_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return false
	}
	members, err := jsonrpc.Index(meta, jsonrpc.Limits{})
	return err == nil && members.Get(revision.MetaProtocolVersion) != nil
}

// ModernMeta holds the checked metadata of a modern request.
type ModernMeta struct {
	revision *revision.Revision
	meta     mcp.Meta
}

// ReadMeta reads and checks the metadata of a modern request. The parameter header is the revision
// in the HTTP header, which must match. It is empty for transports without headers.
func (e *Edge) ReadMeta(m *jsonrpc.Message, header string) (ModernMeta, *jsonrpc.Error) {
	var meta ModernMeta
	raw := m.Members.Get("_meta")
	if len(raw) == 0 || raw[0] != '{' {
		return meta, missingMeta(revision.MetaProtocolVersion)
	}
	members, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil {
		return meta, fault
	}
	version, ok := jsonrpc.Unquote(members.Get(revision.MetaProtocolVersion))
	if !ok {
		return meta, missingMeta(revision.MetaProtocolVersion)
	}
	if header != "" && header != version {
		return meta, jsonrpc.Errorf(revision.CodeHeaderMismatch, "the header names the revision %.40q, _meta names %.40q", header, version)
	}
	r := revision.Lookup(version)
	if r == nil || !r.Modern {
		return meta, revision.Unsupported(version)
	}
	meta.revision, meta.meta.Revision = r, r.Name
	if fault := e.clientMeta(&meta.meta, &members); fault != nil {
		return meta, fault
	}
	return meta, requestMeta(&meta.meta, &members)
}

// clientMeta reads the client's capabilities, information and log level.
func (e *Edge) clientMeta(meta *mcp.Meta, members *jsonrpc.Members) *jsonrpc.Error {
	raw := members.Get(revision.MetaClientCapabilities)
	if len(raw) == 0 || raw[0] != '{' {
		return missingMeta(revision.MetaClientCapabilities)
	}
	var fault *jsonrpc.Error
	if meta.Capabilities, fault = e.capabilitiesOf("_meta: "+revision.MetaClientCapabilities, raw); fault != nil {
		return fault
	}
	if meta.Client, fault = e.infoOf("_meta: "+revision.MetaClientInfo, members.Get(revision.MetaClientInfo)); fault != nil {
		return fault
	}
	if level := members.Get(revision.MetaLogLevel); level != nil {
		text, _ := jsonrpc.Unquote(level)
		if meta.LogLevel = mcp.LogLevel(text); meta.LogLevel.Severity() == 0 {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: %s: expected a level from debug to emergency, got %.40s", revision.MetaLogLevel, level)
		}
	}
	return nil
}

// requestMeta reads the metadata that both eras have: the progress token and the trace context.
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

// isToken reports whether raw is a progress token. As for an id, an integer with a fraction or an
// exponent is sent back unchanged.
func isToken(raw json.RawMessage) bool {
	return raw[0] == '"' || (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && !bytes.ContainsAny([]byte(jsonrpc.ID(raw).Plain()), ".eE")
}

func missingMeta(key string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta: %s: required on every request of a modern client; a legacy client begins with initialize", key)
}

// setRequest sets the fields of the Handler's request from a message.
func setRequest(req *mcp.Request, m *jsonrpc.Message, meta *mcp.Meta, from *From) {
	req.Method, req.Params, req.Meta = m.Method, m.Params, *meta
	req.Name, req.Arguments = revision.Subject(m.Method, &m.Members)
	req.Caller, req.Principal, req.ParamHeaders = from.Caller, from.Principal, from.ParamHeaders
}
