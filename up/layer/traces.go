package layer

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"

	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/traces"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// telemetry describes this process to collectors.
type telemetry struct {
	header     http.Header
	service    string
	attributes map[string]string
}

// newTelemetry reads the environment variables of OpenTelemetry, and adds attributes that they do
// not set.
func newTelemetry(getenv func(string) string, version string) telemetry {
	t := telemetry{header: otlp.Headers(getenv("OTEL_EXPORTER_OTLP_HEADERS")), attributes: map[string]string{"service.version": version, "service.instance.id": uuid()}}
	if host, err := os.Hostname(); err == nil {
		t.attributes["host.name"] = host
	}
	maps.Copy(t.attributes, otlp.Attributes(getenv("OTEL_RESOURCE_ATTRIBUTES")))
	t.service = cmp.Or(getenv("OTEL_SERVICE_NAME"), t.attributes[otlp.ServiceName])
	return t
}

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// tracesEndpoint returns the URL for traces, or an empty string. It reads the environment variables
// that OpenTelemetry defines for all exporters. It ignores an endpoint that supports only gRPC.
func tracesEndpoint(collector string, getenv func(string) string) string {
	if collector != "" {
		return strings.TrimSuffix(collector, "/") + "/v1/traces"
	}
	protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if getenv("OTEL_SDK_DISABLED") == "true" || cmp.Or(getenv("OTEL_TRACES_EXPORTER"), "otlp") != "otlp" || protocol == "grpc" {
		return ""
	}
	if endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); endpoint != "" {
		return endpoint
	}
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
		return strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	return ""
}

// openTraces opens the exporter of spans if a collector is configured.
func openTraces(s *Stack) (err error) {
	endpoint := tracesEndpoint(s.Collector, s.Place.Getenv)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.Logger.Warn("junction: traces", "error", err) }))
	s.tracer, err = traces.Provider(endpoint, traces.Options{Header: s.resource.header, Service: s.resource.service, Resource: s.resource.attributes})
	if err != nil {
		return commandline.Errorf("--otlp: %v", err)
	}
	return nil
}

// closeTraces sends the last spans and closes the exporter.
func closeTraces(s *Stack) error {
	if s.tracer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	if err := s.tracer.Shutdown(ctx); err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	return nil
}

// traced returns options that send the trace context in _meta. Baggage is not sent, as servers need
// not be trusted with it.
func (s *Stack) traced() otelmcp.Options {
	return otelmcp.Options{TracerProvider: s.tracer, Propagator: propagation.TraceContext{}}
}

// clientSpans returns middleware that makes a span for each request from a client, also for
// requests that reach no Handler.
func clientSpans(s *Stack) mcp.Middleware {
	if s.tracer == nil {
		return nil
	}
	return otelmcp.Server(s.traced())
}

// serverSpans returns middleware that makes a span for each request to a server.
func serverSpans(s *Stack, _ *Plan, _ Server) mcp.Middleware {
	if s.tracer == nil {
		return nil
	}
	return otelmcp.Client(s.traced())
}
