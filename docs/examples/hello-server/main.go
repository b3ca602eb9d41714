package main

import (
	"context"
	"log"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

type Person struct{ Name string }

func main() {
	s := mcp.NewServer("hello", "1.0")
	mcp.AddTool(s, "greet", func(_ context.Context, p Person) (string, error) { return "Hello, " + p.Name + "!", nil })
	if err := stdio.Serve(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}
