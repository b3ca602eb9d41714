package otelmcp

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of the spans.
const scope = "github.com/junction-mcp/junction/mcp/otelmcp"

// methodListen gets no span. The duration of such a request depends only on the client.
const methodListen = "subscriptions/listen"

// Options holds the settings of [Server] and [Client]. The zero value of each field is its default.
type Options struct {
	// TracerProvider makes the spans. The default is the global one.
	TracerProvider trace.TracerProvider
	// Propagator reads and writes the trace context of requests. The default is the global one,
	// which does nothing until a program sets it. MCP defines W3C trace context and baggage.
	// Baggage is sent to the server: omit it if servers are not trusted with it.
	Propagator propagation.TextMapPropagator
	// Public is set if untrusted clients can send requests to the [Server]. The client's span is
	// then linked, and does not become the parent of the server's span. The client's baggage is
	// ignored. A [Client] ignores this field.
	Public bool
}

// A tracer is Options with default values.
type tracer struct {
	trace.Tracer
	propagation.TextMapPropagator
	public bool
}

func (o Options) tracer() *tracer {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.Propagator == nil {
		o.Propagator = otel.GetTextMapPropagator()
	}
	return &tracer{o.TracerProvider.Tracer(scope), o.Propagator, o.Public}
}

// Server returns middleware that makes a server span for each request. The parent of the span is
// the client's span, if the request's _meta contains one. A span that is already in the context,
// such as one of an HTTP request, is linked.
func Server(o Options) mcp.Middleware {
	t := o.tracer() // this package does not use event.Tap, as a Handler needs its span
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == methodListen {
				return next.Handle(ctx, req)
			}
			ctx, span := t.serve(ctx, req)
			defer span.End()
			result, err := next.Handle(ctx, req)
			end(span, mcp.OutcomeOf(ctx, &result, err), err, true)
			return result, err
		})
	}
}

// serve starts the span for a request from a client.
func (t *tracer) serve(ctx context.Context, req *mcp.Request) (context.Context, trace.Span) {
	around := trace.SpanContextFromContext(ctx)
	extracted := t.Extract(ctx, carried{req})
	remote := trace.SpanContextFromContext(extracted)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(append(attributes(req), transportInfo(mcp.TransportInfoOf(req), attrClient, attrClientP)...)...)}
	linked := around
	if t.public {
		linked = remote
	} else {
		ctx = extracted
	}
	if linked.IsValid() && !same(around, remote) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: linked}))
	}
	return t.Start(ctx, spanName(req), options...)
}

// same reports whether both are the same span, on either side of a connection.
func same(a, b trace.SpanContext) bool {
	return a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID()
}

// Client returns middleware for [mcp.ClientOptions] that makes a client span for each request. It
// sends the trace context of the span with the request, in place of the one that the request had.
func Client(o Options) mcp.Middleware {
	t := o.tracer()
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == methodListen {
				return next.Handle(ctx, t.inject(ctx, req))
			}
			ctx, span := t.Start(ctx, spanName(req), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes(req)...))
			defer span.End()
			sent := t.inject(ctx, req)
			if span.IsRecording() {
				sent = mcp.WatchTransportInfo(sent, func(c mcp.TransportInfo) { span.SetAttributes(transportInfo(c, attrServer, attrServerP)...) })
			}
			result, err := next.Handle(ctx, sent)
			end(span, mcp.OutcomeOf(ctx, &result, err), err, false)
			return result, err
		})
	}
}
