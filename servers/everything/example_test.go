package everything_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/everything"
)

// ExampleNew connects a client to the server in the same process.
func ExampleNew() {
	c := mcp.NewClient(everything.New())
	defer c.Close()
	result, err := c.CallTool(context.Background(), "echo", map[string]string{"message": "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: hello
}
