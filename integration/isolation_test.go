package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// isolating serves a real server with an instance for each client.
func isolating(t *testing.T, argv []string) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	config := encode(t, map[string]any{
		"mcpServers": map[string]any{"s": map[string]any{"command": argv[0], "args": argv[1:]}},
		"junction":   map[string]any{"servers": map[string]any{"s": map[string]any{"isolation": "client"}}},
	})
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	serving(t, isolated(t), address, junction(t), "up", "--tools", "all", "--config", path, "--http", address)
	return "http://" + address + "/mcp"
}

// clientsOf are two clients: of the newest revision with sessions.
func clientsOf(t *testing.T, url string) (clients [2]*mcp.Client) {
	t.Helper()
	for i := range clients {
		c, err := mcp.DialWith(t.Context(), streamable.Client(url), mcp.ClientOptions{Name: fmt.Sprint("client ", i), Revision: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		clients[i] = c
	}
	return clients
}

func textOf(t *testing.T, c *mcp.Client, tool string, arguments any) string {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	result, err := c.CallTool(t.Context(), tool, json.RawMessage(raw))
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return ""
	}
	var text string
	for _, item := range result.Content {
		text += item.Text
	}
	return text
}

// The real server counts the thoughts of whoever is connected; without instances it counts those of all.
func TestTwoClientsOfARealServerThatKeepsStateSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	clients := clientsOf(t, isolating(t, npmServer("@modelcontextprotocol/server-sequential-thinking/dist/index.js")(t)))
	var both sync.WaitGroup
	for i, c := range clients {
		both.Go(func() {
			for n := 1; n <= 5; n++ {
				text := textOf(t, c, "s__sequentialthinking", map[string]any{"thought": fmt.Sprint("thought ", n, " of client ", i), "thoughtNumber": n, "totalThoughts": 5, "nextThoughtNeeded": n < 5})
				if want := fmt.Sprintf(`"thoughtHistoryLength": %d`, n); !strings.Contains(text, want) {
					t.Errorf("client %d, thought %d: got %.400s, want %s", i, n, text, want)
				}
			}
		})
	}
	both.Wait()
}

// The real server keeps its graph in a file, so an instance of its own is one with a file of its own.
func TestTwoClientsOfARealMemorySeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	memory := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
	ownFile := []string{"sh", "-c", `MEMORY_FILE_PATH=$(mktemp "$0"/XXXXXX.jsonl) exec "$@"`, files}
	clients := clientsOf(t, isolating(t, append(ownFile, memory...)))
	for i, c := range clients {
		entity := map[string]any{"name": fmt.Sprint("friend of client ", i), "entityType": "person", "observations": []string{}}
		textOf(t, c, "s__create_entities", map[string]any{"entities": []any{entity}})
	}
	for i, c := range clients {
		text := textOf(t, c, "s__read_graph", map[string]any{})
		if mine, other := fmt.Sprint("friend of client ", i), fmt.Sprint("friend of client ", 1-i); !strings.Contains(text, mine) || strings.Contains(text, other) {
			t.Errorf("client %d sees %.1000s, want %q and not %q", i, text, mine, other)
		}
	}
	if made, err := filepath.Glob(files + "/*.jsonl"); err != nil || len(made) < 2 {
		t.Errorf("the files are %q, %v, want one for each client", made, err)
	}
}

func TestTwoClientsOfARealBrowserSeeOnlyTheirOwnPage(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><h1>This is page %s</h1>", r.URL.Path[1:], r.URL.Path[1:])
	}))
	defer pages.Close()
	argv := npmServer("@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated", "--executable-path", program(t, "chromium"), "--output-dir", t.TempDir())(t)
	clients := clientsOf(t, isolating(t, argv))
	for i, c := range clients {
		textOf(t, c, "s__browser_navigate", map[string]any{"url": fmt.Sprint(pages.URL, "/", i)})
	}
	for i, c := range clients {
		text := textOf(t, c, "s__browser_snapshot", map[string]any{})
		if want := fmt.Sprint("This is page ", i); !strings.Contains(text, want) {
			t.Errorf("client %d sees %.1000s, want %q", i, text, want)
		}
	}
}
