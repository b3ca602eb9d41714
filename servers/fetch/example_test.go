package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/fetch"
)

func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			fmt.Fprint(w, "<h1>Hello</h1><p>from a <b>page</b></p>")
			return
		}
		http.NotFound(w, r)
	}))
	defer site.Close()
	client := mcp.NewClient(fetch.New(fetch.Options{AllowPrivate: true}))
	text, err := mcp.Call[string](context.Background(), client, "fetch", map[string]any{"url": site.URL + "/"})
	fmt.Println(text[len("Contents of "+site.URL):], err)
	// Output:
	// /:
	// # Hello
	//
	// from a **page** <nil>
}
