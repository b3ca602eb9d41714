package httpsse_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A server offers the old transport next to the new one, each at its own path.
func ExampleHandler() {
	s := mcp.NewServer("greeter", "1.0")
	mcp.AddTool(s, "greet", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	old, endpoint := httpsse.Handler(s), streamable.Handler(s)
	defer old.Close()
	defer endpoint.Close()
	mux := http.NewServeMux()
	mux.Handle("/sse", old)
	mux.Handle("/mcp", endpoint)
	server := httptest.NewServer(mux)
	defer server.Close()

	ctx := context.Background()
	c, err := mcp.Dial(ctx, httpsse.Client(server.URL+"/sse"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := mcp.Call[string](ctx, c, "greet", map[string]string{"name": "Ada"})
	fmt.Println(text, err)
	c.Close()
	old.Close()
	// Output: Hello, Ada! <nil>
}
