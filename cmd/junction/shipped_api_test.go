package main

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
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/mcp"
)

const petsDocument = `openapi: 3.1.0
info: {title: Pets, version: "1"}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [{key: []}]
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, schema: {type: integer}}]
    get: {operationId: getPet, tags: [pets]}
    delete: {operationId: deletePet, tags: [pets, admin]}
  /users:
    get: {operationId: listUsers, tags: [users]}
`

func TestServeOpenAPISendsRequestsWithASecretOfTheEnvironment(t *testing.T) {
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Key")+r.Header.Get("Authorization"))
		fmt.Fprint(w, "got ", r.Header.Get("X-Key"))
	}))
	defer api.Close()
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(petsDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	setenv(t, "PETS_KEY", "key-of-the-test\n")
	a := cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Screen: nil}})
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
	setenv(t, "PETS_KEY", "key-of-the-test")
	a := &cli.App{Place: placeOf(t)}
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

func TestServeSaysWhichFlagOfAnAPIIsWrong(t *testing.T) {
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(petsDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	setenv(t, "PETS_KEY", "s3cret")
	for arguments, want := range map[string]string{
		"openapi":                                        "openapi needs a document: junction serve openapi --from FILE|URL",
		"graphql":                                        "graphql needs an API: junction serve graphql --url URL",
		"time --from x":                                  "--from is for openapi and graphql",
		"graphql --url http://x --tag y":                 "--tag is for openapi",
		"openapi --from x --depth 3":                     "--depth is for graphql",
		"openapi --from FILE --auth-env NO":              "--auth-env: the variable NO is not set",
		"openapi --from FILE --exclude x":                "--exclude x: expected tag=, path=, operation= or method= and a pattern",
		"graphql --url http://x --auth-env key=PETS_KEY": "expected bearer, basic, header:NAME, query:NAME or cookie:NAME in front of =",
	} {
		got := runs(t, "", append([]string{"serve"}, strings.Fields(strings.ReplaceAll(arguments, "FILE", from))...)...)
		got.expect(t, cli.ExitUsage, "", want)
	}
	for arguments, want := range map[string]string{
		"openapi --from FILE": "it names no server: set a base URL",
		"openapi --from FILE --base http://x --auth-env nokey=PETS_KEY": `there is no security scheme "nokey" that takes a secret; there are: key`,
		"openapi --from FILE --base http://x --tag nope":                "of 3 operations none is picked; tags are: admin, pets, users",
	} {
		got := runs(t, "", append([]string{"serve"}, strings.Fields(strings.ReplaceAll(arguments, "FILE", from))...)...)
		got.expect(t, cli.ExitConnection, "", want)
		if strings.Contains(got.stderr, "s3cret") {
			t.Errorf("%s: the error shows a secret: %s", arguments, got.stderr)
		}
	}
}

func TestAnAPIOfTheConfigurationIsAServer(t *testing.T) {
	alone(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "pet %s for %t", r.URL.Path, r.Header.Get("X-Key") == "key-of-the-test")
	}))
	defer api.Close()
	setenv(t, "PETS_KEY", "key-of-the-test")
	dir := t.TempDir()
	write(t, map[string]string{
		filepath.Join(dir, "pets.yaml"): petsDocument,
		filepath.Join(dir, "mcp.json"):  `{"mcpServers":{"pets":{"openapi":"pets.yaml","url":"` + api.URL + `/v1","headers":{"X-Key":"${PETS_KEY}"},"args":["--tag","pets"]}}}`,
	})
	config := filepath.Join(dir, "mcp.json")
	runs(t, "", "call", "pets", "getPet", "id=7", "--config", config).expect(t, cli.ExitOK, "pet /v1/pets/7 for true", "")
	r := serving(t, "up", "--config", config)
	runs(t, "", "call", r.url, "pets__getPet", "id=8").expect(t, cli.ExitOK, "pet /v1/pets/8 for true", "")
	if all := runs(t, "", "tools", r.url).stdout; strings.Contains(all, "listUsers") {
		t.Errorf("tools are %s", all)
	}
}

// An operation that cannot be a tool is named where people look for what is not as they meant it.
func TestStatusNamesOperationsThatAreNoTools(t *testing.T) {
	alone(t)
	const circle = `
  /trees:
    get: {operationId: getTree, parameters: [{$ref: "#/components/parameters/A"}]}
`
	document := strings.Replace(petsDocument, "components: {", "components: {parameters: {A: {$ref: '#/components/parameters/B'}, B: {$ref: '#/components/parameters/A'}}, ", 1) + strings.TrimPrefix(circle, "\n")
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, map[string]any{"pets": map[string]any{"openapi": from, "url": "http://127.0.0.1:1/v1"}})
	serving(t, "up", "--config", config)
	waitFor(t, "connected", func() bool { return shownStatus(t)[0].Servers[0].State == "connected" })
	got := runs(t, "", "status")
	got.expect(t, cli.ExitOK, "No tools of pets, as they cannot be: 1 operation\n  GET /trees: ", "")
	if s := shownStatus(t)[0].Servers[0]; len(s.Omitted) != 1 || s.Tools != 3 {
		t.Errorf("%d tools, omitted %q", s.Tools, s.Omitted)
	}
}

func TestOmittedOperationsAreBounded(t *testing.T) {
	tail := new(cli.StderrTail)
	for range cli.MaxOmitted + 5 {
		tail.AddOmitted(`junction: warning: openapi: an operation is no tool document=x error="GET /x: a \"b\""`)
	}
	tail.AddOmitted("openapi: an operation is no tool error=forged")
	if all := tail.OmittedOperations(); len(all) != cli.MaxOmitted || all[0] != `GET /x: a "b"` {
		t.Errorf("%d kept, the first is %s", len(all), all[0])
	}
}
