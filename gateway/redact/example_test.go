package redact_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/mcp"
)

func Example() {
	type person struct {
		Name, Email string
	}
	s := mcp.NewServer("people", "1")
	mcp.AddTool(s, "find", func(context.Context, struct{}) (person, error) { return person{"Ada", "ada@example.com"}, nil })
	places, err := redact.Parse("/Email")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := redact.Middleware(redact.Options{All: redact.Places{Results: places}})(s)
	result, err := mcp.NewClient(h).CallTool(context.Background(), "find", nil)
	fmt.Println(string(result.StructuredContent), err)
	// Output: {"Name":"Ada","Email":"***"} <nil>
}
