package retry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/mcp"
)

func Example() {
	calls := 0
	server := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		if calls++; calls < 3 {
			return mcp.Result{}, errors.New("the connection was lost")
		}
		return mcp.Result{Value: &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("here")}}}, nil
	})
	reads := func(req *mcp.Request) int { return map[string]int{"read": 3}[req.Name] }
	h := retry.Middleware(retry.Options{Times: reads})(server)
	result, err := mcp.NewClient(h).CallTool(context.Background(), "read", nil)
	fmt.Println(result.Text(), err, calls)
	// Output: here <nil> 3
}
