package up_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/mcp"
)

func TestRequestsThatTwoParsersCouldReadInTwoWays(t *testing.T) {
	keys := &up.Access{Keys: func(*http.Request, string) (*mcp.Principal, error) { return &mcp.Principal{Subject: "ann"}, nil }}
	server := openDoors(t, up.Front{}, keys)
	for _, test := range []struct {
		name, path string
		header     http.Header
		status     int
		want       string
	}{
		{"one token", "/mcp", http.Header{"Authorization": {"Bearer a"}}, 200, ""},
		{"two tokens", "/mcp", http.Header{"Authorization": {"Bearer a", "Bearer b"}}, 400, "header Authorization occurs 2 times"},
		{"the same one twice", "/mcp", http.Header{"Authorization": {"Bearer a", "Bearer a"}}, 400, "header Authorization occurs 2 times"},
		{"two keys", "/mcp", http.Header{"X-Api-Key": {"a", "b"}}, 400, "header X-Api-Key occurs 2 times"},
		{"two tokens for the older transport", "/sse", http.Header{"Authorization": {"Bearer a", "Bearer b"}}, 400, "header Authorization occurs 2 times"},
		{"no coding", "/mcp", http.Header{"Content-Encoding": {"identity"}}, 200, ""},
		{"gzip", "/mcp", http.Header{"Content-Encoding": {"gzip"}}, 415, "the body must have no content coding"},
		{"br and none", "/mcp", http.Header{"Content-Encoding": {"identity", "br"}}, 415, "the body must have no content coding"},
	} {
		t.Run(test.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+test.path, strings.NewReader(initializeBody))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = test.header
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text := make([]byte, 300)
			n, _ := resp.Body.Read(text)
			if resp.StatusCode != test.status || !strings.Contains(string(text[:n]), test.want) {
				t.Errorf("got %d %s, want %d %s", resp.StatusCode, text[:n], test.status, test.want)
			}
			if codings := resp.Header.Get("Accept-Encoding"); (test.status == 415) != (codings == "identity") {
				t.Errorf("Accept-Encoding is %q", codings)
			}
		})
	}
}
