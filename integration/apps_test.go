package integration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// appServer is the program of an example server of the extension's authors.
func appServer(t testing.TB, name string) string {
	t.Helper()
	return npm(t, "apps", "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
}

// Each tool has the view of its own server, through junction up, over every revision. Two of the servers have one URI for
// different views; what is nobody else's comes as the server sent it.
func TestViewsOfOfficialServers(t *testing.T) {
	t.Parallel()
	var servers []realServer
	for _, name := range []string{"basic-preact", "basic-vanillajs", "system-monitor"} {
		servers = append(servers, realServer{name: name, argv: func(t testing.TB) []string { return []string{node(t), appServer(t, name), "--stdio"} }})
	}
	address := freeAddress(t)
	serving(t, isolated(t), address, junction(t), "up", "--config", upConfig(t, servers), "--http", address)
	const clock = `{"ui":{"resourceUri":"ui://get-time/mcp-app.html"},"ui/resourceUri":"ui://get-time/mcp-app.html"}`
	for _, revision := range []string{legacyNewest, modern} {
		t.Run(revision, func(t *testing.T) {
			c, err := mcp.DialWith(t.Context(), streamable.Client("http://"+address+"/mcp"), mcp.ClientOptions{Revision: revision, Capabilities: apps.Capabilities()})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			metas := map[string]json.RawMessage{}
			for tools, err := range c.WatchTools(ctx) { // until all servers have started
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range tools {
					metas[tool.Name] = tool.Meta
				}
				if len(tools) == 4 {
					break
				}
			}
			for name, want := range map[string]string{
				"basic-preact__get-time":            clock,
				"basic-vanillajs__get-time":         `{"ui/resourceUri":"ui://junction/basic-vanillajs/get-time/mcp-app.html","ui":{"resourceUri":"ui://junction/basic-vanillajs/get-time/mcp-app.html"}}`,
				"system-monitor__get-system-info":   `{"ui":{"resourceUri":"ui://system-monitor/mcp-app.html"},"ui/resourceUri":"ui://system-monitor/mcp-app.html"}`,
				"system-monitor__poll-system-stats": `{"ui":{"visibility":["app"]}}`,
			} {
				if string(metas[name]) != want {
					t.Errorf("%s: %s, want %s", name, metas[name], want)
				}
			}
			for server, tool := range map[string]string{"basic-preact": "get-time", "basic-vanillajs": "get-time", "system-monitor": "get-system-info"} {
				want, err := os.ReadFile(filepath.Join(filepath.Dir(appServer(t, server)), "mcp-app.html"))
				if err != nil {
					t.Fatal(err)
				}
				view, err := apps.Read(t.Context(), c, apps.Of(metas[server+"__"+tool]).URI)
				if err != nil || view.HTML != string(want) {
					t.Errorf("%s: the view is not that of the server: %v", server, err)
				}
			}
			result, err := c.CallTool(t.Context(), "basic-vanillajs__get-time", json.RawMessage(`{}`))
			if err != nil || result.IsError || result.Text() == "" {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
