package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func opened(t *testing.T, path string) *mcp.Client {
	t.Helper()
	m, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return mcp.NewClient(m.Server)
}

// said returns the result of a call as text.
func said(t *testing.T, c *mcp.Client, tool, arguments string) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		return "error: " + err.Error()
	}
	if result.IsError {
		return "failed: " + result.Text()
	}
	return result.Text()
}

func TestEntitiesAreStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "memory.db")
	c := opened(t, path)
	for _, step := range []struct{ tool, arguments, want string }{
		{"read_graph", `{}`, `{"entities":[],"relations":[]}`},
		{"create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["likes tea","lives in 50% of Oslo"]},{"name":"咖啡馆","entityType":"place","observations":["晚上十点关门"]}]}`, `"name":"Ada"`},
		{"create_entities", `{"entities":[{"name":"Ada","entityType":"robot","observations":["likes tea","plays chess"]}]}`, `{"entities":[{"name":"Ada","entityType":"robot","observations":["plays chess"]}]}`},
		{"create_relations", `{"relations":[{"from":"Ada","to":"咖啡馆","relationType":"goes to"},{"from":"Ada","to":"咖啡馆","relationType":"goes to"}]}`, `{"relations":[{"from":"Ada","to":"咖啡馆","relationType":"goes to"}]}`},
		{"create_relations", `{"relations":[{"from":"Ada","to":"Bob","relationType":"knows"}]}`, `failed: there is no entity "Bob"`},
		{"add_observations", `{"observations":[{"entityName":"Ada","contents":["is 36"]},{"entityName":"Bob","contents":["is 7"]}]}`, `failed: there is no entity "Bob"`},
		{"search_nodes", `{"query":"is 36"}`, `{"entities":[],"relations":[]}`}, // the call above changed nothing
		{"search_nodes", `{"query":"TEA oslo"}`, `"entityType":"person","observations":["likes tea","lives in 50% of Oslo","plays chess"]`},
		{"search_nodes", `{"query":"十点"}`, `"name":"咖啡馆"`},
		{"search_nodes", `{"query":"50%"}`, `"name":"Ada"`},
		{"search_nodes", `{"query":"5%o"}`, `{"entities":[],"relations":[]}`},
		{"open_nodes", `{"names":["咖啡馆","Ada","none"]}`, `"relations":[{"from":"Ada","to":"咖啡馆","relationType":"goes to"}]`},
		{"open_nodes", `{"names":[]}`, `{"entities":[],"relations":[]}`},
		{"delete_observations", `{"deletions":[{"entityName":"Ada","observations":["plays chess","never said"]}]}`, `{"changed":1}`},
		{"delete_relations", `{"relations":[{"from":"Ada","to":"咖啡馆","relationType":"goes to"}]}`, `{"changed":1}`},
		{"delete_entities", `{"entityNames":["咖啡馆","none"]}`, `{"changed":1}`},
		{"create_entities", `{"entities":[{"name":" ","entityType":"x","observations":[]}]}`, `failed: name: expected 1 to 500 bytes`},
		{"create_entities", `{"entities":[]}`, `failed: expected 1 to 1000 changes, got 0`},
	} {
		if got := said(t, c, step.tool, step.arguments); !strings.Contains(got, step.want) {
			t.Errorf("%s %s\n got %s\nwant %s", step.tool, step.arguments, got, step.want)
		}
	}
	again := opened(t, path)
	if got := said(t, again, "read_graph", `{}`); got != `{"entities":[{"name":"Ada","entityType":"person","observations":["likes tea","lives in 50% of Oslo"]}],"relations":[]}` {
		t.Errorf("another process reads %s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

func TestALargeGraphIsReturnedInPart(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "memory.db"))
	for i := range 3 {
		var all []Entity
		for j := range 100 {
			all = append(all, Entity{fmt.Sprintf("thing %d-%d", i, j), "thing", []string{strings.Repeat("x", 3_000)}})
		}
		arguments, _ := json.Marshal(map[string]any{"entities": all})
		if got := said(t, c, "create_entities", string(arguments)); strings.HasPrefix(got, "failed") {
			t.Fatal(got)
		}
	}
	var g Graph
	if err := json.Unmarshal([]byte(said(t, c, "read_graph", `{}`)), &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Entities) < 50 || len(g.Entities)+g.More != 300 || g.Entities[0].Name != "thing 2-99" {
		t.Errorf("%d entities and %d more, the first is %s", len(g.Entities), g.More, g.Entities[0].Name)
	}
}

func TestTwoProcessesWriteAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	clients := []*mcp.Client{opened(t, path), opened(t, path)}
	var running sync.WaitGroup
	for i, c := range clients {
		for j := range 20 {
			running.Go(func() {
				_, err := c.CallTool(context.Background(), "create_entities", map[string]any{"entities": []Entity{{fmt.Sprint(i, " ", j), "thing", []string{}}}})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
	if got := strings.Count(said(t, clients[0], "read_graph", `{}`), `"entityType"`); got != 40 {
		t.Errorf("%d entities", got)
	}
}

func Example() {
	dir, _ := os.MkdirTemp("", "memory")
	defer os.RemoveAll(dir)
	m, err := Open(context.Background(), filepath.Join(dir, "memory.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	c := mcp.NewClient(m.Server)
	_, _ = c.CallTool(context.Background(), "create_entities", map[string]any{"entities": []Entity{{"Ada", "person", []string{"likes tea"}}}})
	result, _ := c.CallTool(context.Background(), "search_nodes", map[string]string{"query": "tea"})
	fmt.Println(result.Text())
	// Output: {"entities":[{"name":"Ada","entityType":"person","observations":["likes tea"]}],"relations":[]}
}
