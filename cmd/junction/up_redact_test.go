package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A server may put a file into a string of its structured content: where that is JSON, it has nothing of what settings and rules hide.
func TestUpHidesPlacesInJSONWithinStringsOfStructuredContent(t *testing.T) {
	type file struct {
		Content string `json:"content"`
	}
	s := mcp.NewServer("files", "1")
	mcp.AddTool(s, "read", func(context.Context, struct{}) (file, error) { return file{`{"name": "ann", "salary": 123456}`}, nil })
	server := httptest.NewServer(streamable.Handler(s))
	defer server.Close()
	for name, junction := range map[string]string{
		"settings": `"servers": {"files": {"redact": {"results": ["/salary"]}}}`,
		"rules":    `"policy": "rules.json"`,
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Alone(t)
			clitest.Write(t, map[string]string{
				"rules.json": `{"rules": [{"effect": "allow", "server": "files", "redact": {"results": ["/salary"]}}], "default": "allow"}`,
				"mcp.json":   fmt.Sprintf(`{"mcpServers": {"files": {"url": %q}}, "junction": {"tools": "all", %s}}`, server.URL, junction),
			})
			r := serving(t, "up", "--config", "mcp.json")
			got := runs(t, "", "call", r.url, "files__read", "--json")
			if got.code != cli.ExitOK || strings.Contains(got.stdout, "123456") || strings.Count(got.stdout, "***") != 2 || !strings.Contains(got.stdout, `"structuredContent":{"content":"{\"name\":\"ann\",`) {
				t.Errorf("the client got %s%s", got.stdout, got.stderr)
			}
		})
	}
}
