package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestServeSaysWhichFlagOfAnAPIIsWrong(t *testing.T) {
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(clitest.PetsDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Setenv(t, "PETS_KEY", "s3cret")
	for arguments, want := range map[string]string{
		"openapi":                                        "openapi needs a document: junction serve openapi --from FILE|URL",
		"graphql":                                        "graphql needs an API: junction serve graphql --url URL",
		"time --from x":                                  "--from is for openapi and graphql",
		"graphql --url http://x --tag y":                 "--tag is for openapi",
		"openapi --from x --depth 3":                     "--depth is for graphql",
		"openapi --from FILE --auth-env NO":              "--auth-env: the variable NO is not set",
		"openapi --from FILE --exclude x":                "--exclude x: expected tag=, path=, operation= or method= and a pattern",
		"graphql --url http://x --auth-env key=PETS_KEY": "expected bearer, basic, header:NAME, query:NAME or cookie:NAME before the =",
	} {
		got := runs(t, "", append([]string{"serve"}, strings.Fields(strings.ReplaceAll(arguments, "FILE", from))...)...)
		got.expect(t, cli.ExitUsage, "", want)
	}
	for arguments, want := range map[string]string{
		"openapi --from FILE": "it has no servers: set a base URL",
		"openapi --from FILE --base http://x --auth-env nokey=PETS_KEY": `there is no security scheme "nokey" that takes a secret; there are: key`,
		"openapi --from FILE --base http://x --tag nope":                "none of the 3 operations is selected; the tags are: admin, pets, users",
	} {
		got := runs(t, "", append([]string{"serve"}, strings.Fields(strings.ReplaceAll(arguments, "FILE", from))...)...)
		got.expect(t, cli.ExitConnection, "", want)
		if strings.Contains(got.stderr, "s3cret") {
			t.Errorf("%s: the error shows a secret: %s", arguments, got.stderr)
		}
	}
}

func TestAnAPIOfTheConfigurationIsAServer(t *testing.T) {
	clitest.Alone(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "pet %s for %t", r.URL.Path, r.Header.Get("X-Key") == "key-of-the-test")
	}))
	defer api.Close()
	clitest.Setenv(t, "PETS_KEY", "key-of-the-test")
	dir := t.TempDir()
	clitest.Write(t, map[string]string{
		filepath.Join(dir, "pets.yaml"): clitest.PetsDocument,
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
	clitest.Alone(t)
	const circle = `
  /trees:
    get: {operationId: getTree, parameters: [{$ref: "#/components/parameters/A"}]}
`
	document := strings.Replace(clitest.PetsDocument, "components: {", "components: {parameters: {A: {$ref: '#/components/parameters/B'}, B: {$ref: '#/components/parameters/A'}}, ", 1) + strings.TrimPrefix(circle, "\n")
	from := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(from, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, map[string]any{"pets": map[string]any{"openapi": from, "url": "http://127.0.0.1:1/v1"}})
	serving(t, "up", "--config", config)
	waitFor(t, "connected", func() bool { return firstShown(t).Servers[0].State == "connected" })
	got := runs(t, "", "status")
	got.expect(t, cli.ExitOK, "Not offered as tools, pets: 1 operation\n  GET /trees: ", "")
	if s := firstShown(t).Servers[0]; len(s.Omitted) != 1 || s.Tools != 3 {
		t.Errorf("%d tools, omitted %q", s.Tools, s.Omitted)
	}
}
