package ratelimit_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

func Example() {
	s := mcp.NewServer("greeter", "1")
	mcp.AddTool(s, "greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
	h := ratelimit.Middleware(ratelimit.Options{Calls: 1, Key: ratelimit.Caller})(s)
	client := mcp.NewClient(h)
	for range 2 {
		fmt.Println(mcp.Call[string](context.Background(), client, "greet", nil))
	}
	// Output:
	// hello <nil>
	//  server "in-process": tool "greet" failed: too many calls: 1 in a second are allowed for you; try again in 1s
}
