package httptool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
)

// ExampleNew serves one request as a tool, to a client in the same process. To serve a host, pass
// the server to a transport: stdio.Serve(ctx, s).
func ExampleNew() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s, with %s", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer api.Close()
	s, err := httptool.New("weather", httptool.Options{Base: api.URL, Credentials: []httptool.Credential{{In: httptool.Bearer, Value: "key-of-mine"}}},
		httptool.Template{Tool: mcp.Tool{Name: "forecast", Description: "Tell the weather of the next days."}, URL: "/v1/{city}/forecast?days={days}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	c := mcp.NewClient(s)
	defer c.Close()
	result, err := c.CallTool(context.Background(), "forecast", map[string]any{"city": "Oslo/..", "days": "3&key=4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: GET /v1/Oslo%2F../forecast?days=3%26key%3D4, with Bearer ***
}
