package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/registry"
)

func TestAServerJSONIsMadeOfAProgramAndPublished(t *testing.T) {
	clitest.Alone(t)
	program := append([]string{"--"}, self(t, "serve", "everything")...)
	publish := func(words ...string) outcome { return runs(t, "", append([]string{"publish"}, words...)...) }
	made := func(more ...string) outcome { return publish(append(more, program...)...) }

	publish().expect(t, cli.ExitUsage, "", `server.json does not exist; name the program of the server after "--"`)
	publish("server").expect(t, cli.ExitUsage, "", `unexpected "server"`)
	made().expect(t, cli.ExitUsage, "", "packages: expected a package or a remote: without one the server cannot be used")
	made("--package", "npm:x").expect(t, cli.ExitUsage, "", "--package npm:x: expected npm:NAME@VERSION")
	made("--package", "go:x@1").expect(t, cli.ExitUsage, "", "expected npm, pypi, cargo, nuget, oci or mcpb before the colon")
	made("--package", "mcpb:https://x.example/x.mcpb").expect(t, cli.ExitUsage, "", "expected mcpb:URL#FILE")
	made("--package", "mcpb:https://x.example/x.mcpb#nowhere").expect(t, cli.ExitConnection, "", "nowhere")
	made("--remote", "http://localhost/mcp").expect(t, cli.ExitUsage, "", "remotes[0].url: expected an https URL that others can reach")
	made("--token", "${X}").expect(t, cli.ExitUsage, "", "go with --to")
	made("--remote", "https://x.example/mcp", "--to", "https://r.example", "--token", "abc").expect(t, cli.ExitUsage, "", "--token: expected ${secret:NAME}")
	made("--remote", "https://x.example/mcp", "--to", "https://r.example").expect(t, cli.ExitUsage, "", "the registry needs a token")

	if err := os.WriteFile(clitest.In(t, "x.mcpb"), []byte("bundle"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := made("--server-version", "1.0.0", "--package", "oci:ghcr.io/x/y:1.0.0", "--package", "npm:@x/y@1.0.0", "--package", "mcpb:https://x.example/x.mcpb#x.mcpb", "--description", "All of the protocol")
	first.expect(t, cli.ExitOK, `"name": "io.github.junction-mcp/junction"`, "nothing was published")
	s, err := registry.Parse([]byte(first.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if faults := s.Check(); len(faults) > 0 || s.Schema != registry.SchemaURL || s.Version != "1.0.0" || s.Repository == nil || s.Repository.URL != "https://github.com/junction-mcp/junction" ||
		len(s.Packages) != 3 || s.Packages[2].FileSHA256 != "1e6ed65d77d6364eeaed5a745ba5c4985ae2b700dd85d7cf7f027bdf294a33fc" {
		t.Errorf("made %+v with %v", s, faults)
	}
	for _, want := range []string{`"tool": "junction"`, `"package": "github.com/junction-mcp/junction/cmd/junction"`, `"echo"`} {
		if !strings.Contains(first.stdout, want) {
			t.Errorf("there is no %s in %s", want, first.stdout)
		}
	}

	// What people write into the file stays, and packages follow the version.
	made("--server-version", "1.0.0", "--package", "oci:ghcr.io/x/y:1.0.0", "--package", "npm:@x/y@1.0.0", "--description", "All of the protocol", "--write").expect(t, cli.ExitOK, "", "server.json is written")
	text, err := os.ReadFile(clitest.In(t, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), `"identifier": "@x/y",`, `"identifier": "@x/y", "environmentVariables": [{"name": "KEY", "isSecret": true}],`, 1)
	edited = strings.Replace(edited, `"description": "All`, `"icons": [{"src": "https://x.example/i.png"}], "description": "All`, 1)
	if err := os.WriteFile(clitest.In(t, "server.json"), []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	second := made("--server-version", "1.1.0")
	second.expect(t, cli.ExitOK, `"version": "1.1.0"`, "")
	for _, want := range []string{`"identifier": "ghcr.io/x/y:1.1.0"`, `"name": "KEY"`, `"src": "https://x.example/i.png"`} {
		if !strings.Contains(second.stdout, want) {
			t.Errorf("there is no %s in %s", want, second.stdout)
		}
	}
	if strings.Contains(second.stdout, `"1.0.0"`) {
		t.Errorf("the old version is left in %s", second.stdout)
	}
	third := publish("--server-version", "1.2.0", "--package", "npm:@x/y@1.2.0")
	third.expect(t, cli.ExitOK, `"name": "KEY"`, "")
	if strings.Contains(third.stdout, "ghcr.io") {
		t.Errorf("a package that was not named is left in %s", third.stdout)
	}

	var got string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v0.1/publish" || r.Header.Get("Authorization") != "Bearer "+"publish-it" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		got = string(body)
		fmt.Fprintf(w, `{"server":%s}`, body)
	}))
	defer h.Close()
	clitest.Setenv(t, "REGISTRY_TOKEN", "not-this-one")
	publish("--to", h.URL, "--token", "${REGISTRY_TOKEN}").expect(t, cli.ExitConnection, "", "not published: registry "+h.URL+" needs a token with access")
	publish("--to", h.URL, "--token", "${NO_SUCH_TOKEN}").expect(t, cli.ExitConnection, "", "the variable NO_SUCH_TOKEN is not set")
	clitest.Setenv(t, "REGISTRY_TOKEN", "publish-it")
	done := publish("--to", h.URL, "--token", "${REGISTRY_TOKEN}")
	done.expect(t, cli.ExitOK, "", "io.github.junction-mcp/junction 1.0.0 is published in "+h.URL)
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"name":"KEY"`) || strings.Contains(done.stderr, "publish-it") {
		t.Errorf("published %s, and said %s", got, done.stderr)
	}
}
