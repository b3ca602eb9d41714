// Custom-context calls an API with the credentials of the tool's caller. They come from a header
// over HTTP, and from the environment over standard input.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/streamable"
)

var endpoint = "https://httpbin.org/anything"

type tokenKey struct{}

func withToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// fromHeader puts the credentials of a request into its context. Tools that the request calls get
// this context.
func fromHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(withToken(r.Context(), r.Header.Get("Authorization"))))
	})
}

func request(ctx context.Context, in struct {
	Message string `json:"message" doc:"Message to echo"`
}) (string, error) {
	token, _ := ctx.Value(tokenKey{}).(string)
	if token == "" {
		return "", errors.New("missing token")
	}
	r, err := http.NewRequestWithContext(ctx, "GET", endpoint+"?message="+url.QueryEscape(in.Message), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func newServer() *mcp.Server {
	s := mcp.NewServer("example-server", "1.0.0")
	mcp.AddToolWith(s, mcp.Tool{Name: "make_authenticated_request", Description: "Makes an authenticated request"}, request)
	return s
}

func main() {
	address := flag.String("http", "", "serve HTTP at this address, in place of standard input and output")
	flag.Parse()
	if *address == "" {
		log.Fatal(stdio.Serve(withToken(context.Background(), os.Getenv("API_KEY")), newServer()))
	}
	log.Fatal(http.ListenAndServe(*address, fromHeader(streamable.Handler(newServer()))))
}
