package reach_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/mcp"
)

func TestServeOpenAPISendsRequestsWithASecretOfTheEnvironment(t *testing.T) {
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Key")+r.Header.Get("Authorization"))
		fmt.Fprint(w, "got ", r.Header.Get("X-Key"))
	}))
	defer api.Close()
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(clitest.PetsDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Setenv(t, "PETS_KEY", "key-of-the-test\n")
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: nil}})
	for _, auth := range []string{"PETS_KEY", "key=PETS_KEY", "header:X-Key=PETS_KEY"} {
		h, err := reach.Shipped(t.Context(), a, "openapi", reach.Shipping{API: reach.APIShipping{From: from, Base: api.URL + "/v1", Tags: []string{"pets"}, Exclude: []string{"tag=admin"}, Auth: []string{auth}}})
		if err != nil {
			t.Fatal(err)
		}
		c := mcp.NewClient(h)
		result, err := c.CallTool(t.Context(), "getPet", map[string]any{"id": 7})
		if err != nil || result.Text() != "got ***" {
			t.Errorf("%s: got %v, %v", auth, result, err)
		}
		for tool, err := range c.Tools(t.Context()) {
			if err != nil || tool.Name != "getPet" {
				t.Errorf("%s: there is %s, %v", auth, tool.Name, err)
			}
		}
		c.Close()
	}
	if got, want := strings.Join(seen, "\n"), strings.TrimSpace(strings.Repeat("GET /v1/pets/7 key-of-the-test\n", 3)); got != want {
		t.Errorf("the API saw\n%s\nwant\n%s", got, want)
	}
	if err := a.Launch.Close(); err != nil {
		t.Error(err)
	}
}

func TestServeGraphQLAsksTheAPIForItsTypes(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-of-the-test" {
			t.Errorf("the API saw %q", r.Header.Get("Authorization"))
		}
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "__schema") {
			fmt.Fprint(w, `{"data":{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[
				{"name":"now","args":[],"type":{"kind":"SCALAR","name":"String"}},{"name":"then","args":[],"type":{"kind":"SCALAR","name":"String"}}]}]}}}`)
			return
		}
		fmt.Fprint(w, `{"data":{"now":"late"}}`)
	}))
	defer api.Close()
	clitest.Setenv(t, "PETS_KEY", "key-of-the-test")
	a := &cli.App{Place: clitest.PlaceOf(t)}
	h, err := reach.Shipped(t.Context(), a, "graphql", reach.Shipping{API: reach.APIShipping{URL: api.URL, Auth: []string{"PETS_KEY"}, Exclude: []string{"operation=then"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(h)
	defer c.Close()
	if result, err := c.CallTool(t.Context(), "now", nil); err != nil || result.Text() != `"late"` {
		t.Errorf("got %v, %v", result, err)
	}
	if _, err := c.CallTool(t.Context(), "then", nil); err == nil {
		t.Error("a field that is excluded is a tool")
	}
}
