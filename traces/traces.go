package traces

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/otlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Options configure an exporter. A zero field means its default.
type Options struct {
	// Header is sent with every request, for example Authorization.
	Header http.Header
	// HTTP sends the requests; the default is a client of the exporter's own.
	HTTP *http.Client
	// Service is the name of the program; the default is "junction".
	Service string
	// Resource holds further attributes of the program, such as service.version and host.name.
	Resource map[string]string
}

// Provider returns a TracerProvider that sends spans in batches to a collector. endpoint is the URL
// of the collector's endpoint for traces, such as http://localhost:4318/v1/traces. At most 2,048
// spans wait; further ones are dropped. Shutdown sends the waiting spans.
func Provider(endpoint string, o Options) (*trace.TracerProvider, error) {
	e, err := Exporter(endpoint, o)
	if err != nil {
		return nil, err
	}
	// Of the default resource only the service's name is used; the other attributes describe the
	// machine.
	return trace.NewTracerProvider(trace.WithBatcher(e), trace.WithResource(resource.NewSchemaless(attribute.String("service.name", cmp.Or(o.Service, "junction"))))), nil
}

// Exporter returns the exporter that Provider uses. It sends OTLP over HTTP, in JSON.
func Exporter(endpoint string, o Options) (trace.SpanExporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("traces cannot be sent to %q; expected the URL of a collector, such as http://localhost:4318/v1/traces", endpoint)
	}
	if o.HTTP == nil {
		o.HTTP = otlp.NewHTTP()
	}
	return &exporter{collector: otlp.Collector{URL: endpoint, Header: o.Header, HTTP: o.HTTP}, service: cmp.Or(o.Service, "junction"), resource: o.Resource}, nil
}

type exporter struct {
	collector otlp.Collector
	service   string
	resource  map[string]string
}

// ExportSpans implements [trace.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if err := e.collector.Send(ctx, e.request(spans)); err != nil {
		return fmt.Errorf("%d spans are not exported to %s: %w", len(spans), e.collector.URL, err)
	}
	return nil
}

// Shutdown implements [trace.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.collector.HTTP.CloseIdleConnections()
	return nil
}

// request returns an ExportTraceServiceRequest. Each span has its own scope; spans are rarely
// searched by scope.
func (e *exporter) request(spans []trace.ReadOnlySpan) []byte {
	w := jsonrpc.NewObject(nil)
	otlp.Resource(&w, "resourceSpans", e.service, e.resource)
	w.Array("scopeSpans")
	for _, s := range spans {
		w.ObjectElement()
		w.Object("scope")
		w.String("name", s.InstrumentationScope().Name)
		w.End()
		w.Array("spans")
		w.ObjectElement()
		write(&w, s)
		w.End()
		w.End()
		w.End()
	}
	w.End()
	w.End()
	w.End()
	return w.Bytes()
}

func write(w *jsonrpc.Writer, s trace.ReadOnlySpan) {
	w.String("traceId", s.SpanContext().TraceID().String())
	w.String("spanId", s.SpanContext().SpanID().String())
	if p := s.Parent(); p.SpanID().IsValid() {
		w.String("parentSpanId", p.SpanID().String())
	}
	w.String("name", s.Name())
	w.Int("kind", int64(s.SpanKind())) // both use the same numbers
	w.String("startTimeUnixNano", strconv.FormatInt(s.StartTime().UnixNano(), 10))
	w.String("endTimeUnixNano", strconv.FormatInt(s.EndTime().UnixNano(), 10))
	attributes(w, s.Attributes())
	w.Array("events")
	for _, event := range s.Events() {
		w.ObjectElement()
		w.String("timeUnixNano", strconv.FormatInt(event.Time.UnixNano(), 10))
		w.String("name", event.Name)
		attributes(w, event.Attributes)
		w.End()
	}
	w.End()
	w.Array("links")
	for _, link := range s.Links() {
		w.ObjectElement()
		w.String("traceId", link.SpanContext.TraceID().String())
		w.String("spanId", link.SpanContext.SpanID().String())
		attributes(w, link.Attributes)
		w.End()
	}
	w.End()
	w.Object("status")
	switch status := s.Status(); status.Code { // the numbers of the codes differ
	case codes.Ok:
		w.Int("code", 1)
	case codes.Error:
		w.Int("code", 2)
		w.String("message", status.Description)
	}
	w.End()
}

// attributes writes the attributes of a span. Lists are written as text.
func attributes(w *jsonrpc.Writer, all []attribute.KeyValue) {
	w.Array("attributes")
	for _, a := range all {
		if t := a.Value.Type(); t != attribute.BOOL && t != attribute.INT64 && t != attribute.FLOAT64 {
			otlp.Text(w, string(a.Key), a.Value.String())
			continue
		}
		w.ObjectElement()
		w.String("key", string(a.Key))
		w.Object("value")
		switch a.Value.Type() {
		case attribute.BOOL:
			w.Bool("boolValue", a.Value.AsBool())
		case attribute.INT64:
			w.String("intValue", strconv.FormatInt(a.Value.AsInt64(), 10))
		case attribute.FLOAT64:
			w.Number("doubleValue", a.Value.AsFloat64())
		}
		w.End()
		w.End()
	}
	w.End()
}
