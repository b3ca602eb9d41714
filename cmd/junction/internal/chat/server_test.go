package chat_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
)

// A program that takes its words elsewhere could not read here what a person attaches.
func TestUnconfinedLocalServers(t *testing.T) {
	for command, want := range map[string]bool{
		"npx -y @modelcontextprotocol/server-filesystem /home/ada": true,
		"/usr/local/bin/files --root .":                            true,
		"":                                                         false,
		"https://example.com/mcp":                                  false,
		"localhost:3000":                                           false,
		"npx -y mcp-remote https://example.com/mcp":    false,
		"junction proxy --url=https://example.com/mcp": false,
		"docker run -i --rm mcp/files":                 false,
		"/usr/bin/ssh ada@host files":                  false,
		"wsl.exe files":                                false,
	} {
		if got := chat.IsLocal(strings.Fields(command)); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
