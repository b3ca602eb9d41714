package otelmcp_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A call that is one trace on both sides of a connection.
func Example() {
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans)) // a program exports them
	o := otelmcp.Options{TracerProvider: provider, Propagator: propagation.TraceContext{}}

	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", func(context.Context, struct{}) (string, error) { return "rain", nil })
	h := mcp.Chain(s, otelmcp.Server(o))

	ctx := context.Background()
	c, err := mcp.DialWith(ctx, stream.Pipe(h), mcp.ClientOptions{Middleware: []mcp.Middleware{otelmcp.Client(o)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	spans.Reset() // of connecting
	fmt.Println(mcp.Call[string](ctx, c, "forecast", nil))

	server, client := spans.Ended()[0], spans.Ended()[1]
	fmt.Println(client.SpanKind(), client.Name())
	fmt.Println(server.SpanKind(), server.Name())
	fmt.Println(server.Parent().SpanID() == client.SpanContext().SpanID(), server.SpanContext().TraceID() == client.SpanContext().TraceID())
	// Output:
	// rain <nil>
	// client tools/call forecast
	// server tools/call forecast
	// true true
}
