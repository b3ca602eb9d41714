package graphql_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/graphql"
)

// ExampleOpen connects a client to the server in the same process. To serve a host, pass the server
// to a transport: stdio.Serve(ctx, s).
func ExampleOpen() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "__schema") {
			fmt.Fprint(w, `{"data":{"__schema":{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","fields":[
				{"name":"hello","args":[{"name":"name","type":{"kind":"SCALAR","name":"String"}}],"type":{"kind":"SCALAR","name":"String"}}]}]}}}`)
			return
		}
		fmt.Println(string(body))
		fmt.Fprint(w, `{"data":{"hello":"Hello, Ada"}}`)
	}))
	defer api.Close()
	ctx := context.Background()
	s, err := graphql.Open(ctx, graphql.Options{URL: api.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	c := mcp.NewClient(s)
	defer c.Close()
	result, err := c.CallTool(ctx, "hello", map[string]any{"name": "Ada"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// {"query":"query ($name: String) {hello(name: $name) }","variables":{"name":"Ada"}}
	// "Hello, Ada"
}
