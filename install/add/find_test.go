package add

import (
	"testing"
)

func TestServersGetShortNames(t *testing.T) {
	for word, want := range map[string]string{
		"npm:@modelcontextprotocol/server-everything@1.2.3": "everything",
		"pypi:mcp-server-time==2026.1":                      "time", "npm:mcp-hello-world": "hello-world", "npm:@playwright/mcp": "playwright", "npm:@x/weather-mcp-server": "weather",
		"https://mcp.linear.app/mcp": "linear", "http://localhost:7717/mcp": "localhost", "docker:ghcr.io/github/github-mcp-server:v1": "github", "https://example.com/tools.mcpb": "tools",
	} {
		w := &addition{Adder: adder(t)}
		if err := w.find(t.Context(), word); err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if got := shortName(w.server); got != want {
			t.Errorf("%s is called %s, want %s", word, got, want)
		}
	}
}
