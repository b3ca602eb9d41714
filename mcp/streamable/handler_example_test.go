package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// One URL serves clients of all revisions. In a program, mount the handler with http.Handle("/mcp",
// endpoint) and serve it by an http.Server.
func ExampleHandler() {
	s := mcp.NewServer("greeter", "1.0")
	mcp.AddTool(s, "greet", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	endpoint := streamable.Handler(s)
	defer endpoint.Close()
	server := httptest.NewServer(endpoint)
	defer server.Close()

	ctx := context.Background()
	c, err := mcp.Dial(ctx, streamable.Client(server.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := mcp.Call[string](ctx, c, "greet", map[string]string{"name": "Ada"})
	fmt.Println(text, err)
	// Output: Hello, Ada! <nil>
}

// Shutdown lets running requests finish before the server ends.
func ExampleEndpoint_Shutdown() {
	endpoint := streamable.Handler(mcp.NewServer("example", "1.0"))
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: endpoint}

	ctx := context.Background()
	fmt.Println(endpoint.Shutdown(ctx), server.Shutdown(ctx))
	// Output: <nil> <nil>
}
