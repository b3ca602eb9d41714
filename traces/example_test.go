package traces_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/traces"
)

func Example() {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println("spans came to", r.URL.Path)
	}))
	defer collector.Close()
	provider, err := traces.Provider(collector.URL+"/v1/traces", traces.Options{Service: "greeter"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := mcp.NewServer("greeter", "1")
	mcp.AddTool(s, "greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
	client := mcp.NewClient(otelmcp.Server(otelmcp.Options{TracerProvider: provider})(s))
	fmt.Println(mcp.Call[string](context.Background(), client, "greet", nil))
	fmt.Println(provider.Shutdown(context.Background())) // sends what is not sent yet
	// Output:
	// hello <nil>
	// spans came to /v1/traces
	// <nil>
}
