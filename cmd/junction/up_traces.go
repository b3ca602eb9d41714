package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/traces"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// openTraces has the spans of requests sent to a collector, if one is named: by --otlp, or in the variables that
// programs of OpenTelemetry look at.
func (y *layers) openTraces(a *app, base string) error {
	endpoint := tracesEndpoint(base, os.Getenv)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { a.logger().Warn("junction: traces", "error", err) }))
	p, err := traces.Provider(endpoint, traces.Options{Header: otlp.Headers(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Service: os.Getenv("OTEL_SERVICE_NAME")})
	if err != nil {
		return usagef("--otlp: %v", err)
	}
	y.tracer = p
	return nil
}

// tracesEndpoint is where traces go; empty if nowhere. The variables are those that OpenTelemetry has for all its
// exporters; one that speaks gRPC only is not for this one.
func tracesEndpoint(flag string, getenv func(string) string) string {
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
func (y *layers) traced() otelmcp.Options {
	return otelmcp.Options{TracerProvider: y.tracer, Propagator: propagation.TraceContext{}}
}

// spans makes a span of each request from a client.
func (y *layers) spans(h mcp.Handler) mcp.Handler {
	if y.tracer == nil {
		return h
	}
	return otelmcp.Server(y.traced())(h)
}

// closeTraces sends the last spans.
func (y *layers) closeTraces() error {
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
