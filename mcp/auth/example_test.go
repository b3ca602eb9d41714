package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// The tools of the server need a token, and one of them the scope "write".
func Example() {
	s := mcp.NewServer("notes", "1.0.0")
	mcp.AddTool(s, "add_note", func(_ context.Context, in struct{ Text string }) (string, error) { return "added", nil })

	guard, err := auth.New(auth.Options{
		Resource: "https://example.com/mcp",
		Servers:  []string{"https://login.example.com"},
		Verifier: auth.JWT(auth.JWTOptions{Issuer: "https://login.example.com"}),
		Scopes:   []string{"read", "write"},
	})
	if err != nil {
		panic(err)
	}
	scoped := middleware.ToolScopes(map[string][]string{"add_*": {"write"}})(s)
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.HandlerWith(scoped, streamable.Options{Principal: guard.Principal, Challenge: guard.Challenge, AllowedHosts: []string{"example.com"}}))
	mux.Handle(guard.MetadataPath(), guard.Metadata())

	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequest(http.MethodPost, "https://example.com/mcp", nil))
	fmt.Println(response.Code, response.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource/mcp", scope="read write"
}
