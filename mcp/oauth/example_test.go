package oauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// The client sends its user to log in when a server asks for a token. This server asks for none.
func Example() {
	s := mcp.NewServer("greeter", "1.0.0")
	mcp.AddTool(s, "greet", func(_ context.Context, in struct{ Name string }) (string, error) { return "Hello " + in.Name, nil })
	site := httptest.NewServer(streamable.Handler(s))
	defer site.Close()

	tokens := oauth.New(oauth.Options{Name: "My program", Visit: oauth.Loopback(func(_ context.Context, page string) error {
		fmt.Println("Log in at", page)
		return nil
	})})
	transport, err := tokens.Transport(site.URL, nil)
	if err != nil {
		panic(err)
	}
	c, err := mcp.Dial(context.Background(), streamable.ClientWith(site.URL, streamable.ClientOptions{HTTP: &http.Client{Transport: transport}}))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Println(mcp.Call[string](context.Background(), c, "greet", map[string]string{"Name": "Ada"}))
	// Output: Hello Ada <nil>
}
