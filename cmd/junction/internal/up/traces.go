package up

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/traces"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// openTraces has the spans of requests sent to a collector, if one is named: by --otlp, or in the variables that
// programs of OpenTelemetry look at.
func (y *Layers) openTraces(a *cli.App) error {
	endpoint := TracesEndpoint(y.collector, a.Getenv)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { a.Logger().Warn("junction: traces", "error", err) }))
	p, err := traces.Provider(endpoint, traces.Options{Header: otlp.Headers(a.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Service: a.Resource.Service, Resource: a.Resource.Attributes})
	if err != nil {
		return cli.Usagef("--otlp: %v", err)
	}
	y.tracer = p
	return nil
}

// NewResource takes it from the variables that OpenTelemetry has for that; what they do not say is found out.
func NewResource(getenv func(string) string) cli.TelemetryResource {
	r := cli.TelemetryResource{Attributes: map[string]string{"service.version": cli.Version, "service.instance.id": uuid()}}
	if host, err := os.Hostname(); err == nil {
		r.Attributes["host.name"] = host
	}
	maps.Copy(r.Attributes, otlp.Attributes(getenv("OTEL_RESOURCE_ATTRIBUTES")))
	r.Service = cmp.Or(getenv("OTEL_SERVICE_NAME"), r.Attributes[otlp.ServiceName])
	return r
}

// uuid is a random one (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// TracesEndpoint is where traces go; empty if nowhere. The variables are those that OpenTelemetry has for all its
// exporters; one that speaks gRPC only is not for this one.
func TracesEndpoint(flag string, getenv func(string) string) string {
	if flag != "" {
		return strings.TrimSuffix(flag, "/") + "/v1/traces"
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

// traced options make spans whose context travels in _meta; baggage does not, as servers need not be trusted with it.
func (y *Layers) traced() otelmcp.Options {
	return otelmcp.Options{TracerProvider: y.tracer, Propagator: propagation.TraceContext{}}
}

// spans makes a span of each request from a client, also of those that no Handler gets.
func (y *Layers) spans() mcp.Middleware {
	if y.tracer == nil {
		return nil
	}
	return otelmcp.Server(y.traced())
}

// closeTraces sends the last spans.
func (y *Layers) closeTraces() error {
	if y.tracer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	if err := y.tracer.Shutdown(ctx); err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	return nil
}
