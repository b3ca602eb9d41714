package main

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

func main() {
	c, _ := mcp.Dial(context.Background(), command.New("go", "run", "./docs/examples/hello-server"))
	defer c.Close()
	fmt.Println(mcp.Call[string](context.Background(), c, "greet", map[string]string{"Name": "Ada"}))
}
