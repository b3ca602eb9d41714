package results_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/mcp"
)

func Example() {
	s := mcp.NewServer("logs", "1")
	mcp.AddTool(s, "tail", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("a line of a log\n", 10_000), nil
	})
	h := results.Middleware(results.Options{Server: "logs", Max: 1_000})(s)
	client := mcp.NewClient(h)
	result, err := client.CallTool(context.Background(), "tail", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := client.ReadResource(context.Background(), result.Content[1].Link.URI+"/160")
	fmt.Println(len(result.Content[0].Text) < 1_300, len(page.Contents[0].Text), err)
	// Output: true 1000 <nil>
}
