package otelmcp

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name under which the spans are made.
const scope = "github.com/junction-mcp/junction/mcp/otelmcp"

// methodListen lasts as long as a client listens, so a span says nothing about it.
const methodListen = "subscriptions/listen"

// Options are optional; the zero value of each field means its default.
type Options struct {
	// TracerProvider makes the spans; default the global one.
	TracerProvider trace.TracerProvider
	// Propagator reads and writes the trace context of requests. The default is
	// the global one, which does nothing until a program sets it; W3C trace
	// context and baggage are what MCP names. Baggage goes to the server: leave
	// it out where servers are not to be trusted with it.
	Propagator propagation.TextMapPropagator
	// Public says that anybody can send requests to the [Server]: the client's
	// trace is linked to, and does not become the parent of the server's own, and
	// its baggage is not taken over. A [Client] ignores it.
	Public bool
}

// A tracer is Options with their defaults.
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

// Server returns middleware that makes a server span of each request. Its
// parent is the client's span, where the request's _meta names one; a span that
// the context had already, such as that of an HTTP request, is linked to.
func Server(o Options) mcp.Middleware {
	t := o.tracer() // the library has no event.Tap, and what handles a request needs its span
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

// serve starts the span of a request that came from a client.
func (t *tracer) serve(ctx context.Context, req *mcp.Request) (context.Context, trace.Span) {
	around := trace.SpanContextFromContext(ctx)
	extracted := t.Extract(ctx, carried{req})
	remote := trace.SpanContextFromContext(extracted)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(append(attributes(req), carriage(mcp.CarriageOf(req), attrClient, attrClientP)...)...)}
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

// same reports whether both are one span, on whichever side of a wire.
func same(a, b trace.SpanContext) bool {
	return a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID()
}

// Client returns middleware for [mcp.ClientOptions] that makes a client span of
// each request and sends its trace context along, in place of any that the
// request had.
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
				sent = mcp.WatchCarriage(sent, func(c mcp.Carriage) { span.SetAttributes(carriage(c, attrServer, attrServerP)...) })
			}
			result, err := next.Handle(ctx, sent)
			end(span, mcp.OutcomeOf(ctx, &result, err), err, false)
			return result, err
		})
	}
}
