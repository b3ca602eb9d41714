package otelmcp

import (
	"context"
	"errors"
	"strconv"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Attributes of the semantic conventions for MCP (gen-ai/mcp).
const (
	attrMethod    = attribute.Key("mcp.method.name")
	attrRevision  = attribute.Key("mcp.protocol.version")
	attrResource  = attribute.Key("mcp.resource.uri")
	attrTool      = attribute.Key("gen_ai.tool.name")
	attrPrompt    = attribute.Key("gen_ai.prompt.name")
	attrOperation = attribute.Key("gen_ai.operation.name")
	attrError     = attribute.Key("error.type")
	attrStatus    = attribute.Key("rpc.response.status_code")
	attrID        = attribute.Key("jsonrpc.request.id")
	attrSession   = attribute.Key("mcp.session.id")
	attrNetwork   = attribute.Key("network.transport")
	attrProtocol  = attribute.Key("network.protocol.name")
	attrProtocolV = attribute.Key("network.protocol.version")
	attrClient    = attribute.Key("client.address")
	attrClientP   = attribute.Key("client.port")
	attrServer    = attribute.Key("server.address")
	attrServerP   = attribute.Key("server.port")
)

// Limits of texts from clients in a span, in characters.
const (
	maxName = 128
	maxURI  = 1_024
	maxText = 200
)

// spanName returns the name of the span for a request. It consists of the method and the name of
// the tool or prompt. URIs would make too many different names.
func spanName(req *mcp.Request) string {
	name := plaintext.Line(req.Method, maxName)
	if req.Name != "" && (req.Method == "tools/call" || req.Method == "prompts/get") {
		name += " " + plaintext.Line(req.Name, maxName)
	}
	return name
}

func attributes(req *mcp.Request) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attrMethod.String(plaintext.Line(req.Method, maxName))}
	if req.Meta.Revision != "" {
		attrs = append(attrs, attrRevision.String(req.Meta.Revision))
	}
	switch req.Method {
	case "tools/call":
		attrs = append(attrs, attrOperation.String("execute_tool"), attrTool.String(plaintext.Line(req.Name, maxName)))
	case "prompts/get":
		attrs = append(attrs, attrPrompt.String(plaintext.Line(req.Name, maxName)))
	case "resources/read":
		attrs = append(attrs, attrResource.String(plaintext.Line(redact.URI(req.Name), maxURI)))
	}
	return attrs
}

// transportInfo returns the attributes that describe how a request travels. The keys address and
// port are those for the other side.
func transportInfo(c mcp.TransportInfo, address, port attribute.Key) (attrs []attribute.KeyValue) {
	for _, a := range [...]struct {
		key   attribute.Key
		value string
	}{
		{attrRevision, c.Revision}, {attrID, c.ID}, {attrSession, c.Session}, {attrNetwork, c.Network}, {attrProtocol, c.Protocol},
		{attrProtocolV, c.ProtocolVersion}, {address, c.Address},
	} {
		if a.value != "" {
			attrs = append(attrs, a.key.String(plaintext.Line(a.value, maxName)))
		}
	}
	if c.Address != "" && c.Port != 0 {
		attrs = append(attrs, port.Int(c.Port))
	}
	return attrs
}

// end records the outcome of the request in the span. A request that needs input, or that the
// client cancelled, is not an error. The flag answering is set on the side whose error becomes the
// response.
func end(span trace.Span, outcome mcp.Outcome, err error, answering bool) {
	if !span.IsRecording() {
		return
	}
	switch outcome {
	case mcp.OutcomeInputRequired, mcp.OutcomeCancelled:
		span.AddEvent(string(outcome))
	case mcp.OutcomeToolError:
		span.SetAttributes(attrError.String(string(outcome)))
		span.SetStatus(codes.Error, "")
	case mcp.OutcomeError:
		fault := mcp.ErrorOf(err)
		code := strconv.Itoa(fault.Code)
		if answering || errors.As(err, new(*mcp.Error)) {
			span.SetAttributes(attrError.String(code), attrStatus.String(code))
		} else {
			span.SetAttributes(attrError.String(errorType(err)))
		}
		span.SetStatus(codes.Error, plaintext.Line(redact.Text(fault.Message, maxText), maxText))
	}
}

// errorType returns the type of an error that is not a response.
func errorType(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return "_OTHER"
}
