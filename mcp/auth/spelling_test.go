package auth

import (
	"net/http"
	"strings"
	"testing"
)

func TestIssuersAndResourcesAreSpelledInSeveralWays(t *testing.T) {
	g := newGiver(t)
	other := strings.Replace(g.URL, "http:", "HTTP:", 1)
	for _, test := range []struct {
		configured string
		changes    map[string]any
		want       int
	}{
		{g.URL, map[string]any{"iss": g.URL + "/"}, http.StatusOK},
		{g.URL + "/", map[string]any{"iss": g.URL}, http.StatusOK},
		{other, map[string]any{"iss": g.URL}, http.StatusOK},
		{g.URL, map[string]any{"aud": "https://MCP.example:443/mcp"}, http.StatusOK},
		{g.URL, map[string]any{"iss": g.URL + "/tenant"}, http.StatusUnauthorized},
		{g.URL, map[string]any{"aud": "https://mcp.example/MCP"}, http.StatusUnauthorized},
		{g.URL, map[string]any{"aud": "https://mcp.example:8443/mcp"}, http.StatusUnauthorized},
	} {
		guard := g.guard(Options{Servers: []string{test.configured}, Verifier: JWT(JWTOptions{Issuer: test.configured, HTTP: http.DefaultClient})})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, resource, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = bearer(g.token(test.changes))
		p, err := guard.Principal(req)
		if (err == nil) != (test.want == http.StatusOK) || err == nil && p.Issuer != test.configured {
			t.Errorf("%s with %v: %+v, %v", test.configured, test.changes, p, err)
		}
	}
}
