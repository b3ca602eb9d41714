package embeddings_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/toolsearch"
	"github.com/junction-mcp/junction/toolsearch/embeddings"
)

func Example() {
	// Replaces a real endpoint and always returns the same vector.
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[0.6,0.8]}]}`)
	}))
	defer endpoint.Close()

	client, err := embeddings.New(embeddings.Options{BaseURL: endpoint.URL + "/v1", Model: "any"})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := toolsearch.New(toolsearch.Options{Embedder: client})
	x.SetServer("weather", "", []toolsearch.Tool{{Name: "forecast", Description: "What the sky will do."}})
	if err := x.Embed(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	r := x.Search(context.Background(), toolsearch.Query{Text: "do I need an umbrella"})
	fmt.Println(r.Hits[0].ID, r.Note)
	// Output: weather__forecast
}
