package event_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/mcp"
)

// A printer prints the steps of every request.
type printer struct{}

func (printer) Watching() bool { return true }

func (p printer) Begin(ctx context.Context, request event.Step) (context.Context, event.Call) {
	p.Step(ctx, request)
	return ctx, p
}

func (printer) NextID() int64 { return 2 }

func (printer) Step(_ context.Context, s event.Step) { fmt.Printf("%s\n", s.AppendMessage(nil, "1")) }

func ExampleTap() {
	hello := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		return mcp.Result{Value: map[string]string{"hello": req.Name}}, nil
	})
	h := mcp.Chain(hello, event.Tap(printer{}))
	if _, err := h.Handle(context.Background(), mcp.NewRequest("tools/call", []byte(`{"name":"greet"}`))); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}
	// {"jsonrpc":"2.0","id":1,"result":{"hello":"greet"}}
}
