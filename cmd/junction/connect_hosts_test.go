package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
)

// docs/hosts.md says of each host which commands read its file: those that connect and tap know all, the others some.
func TestThePageOfHostsSaysWhichCommandsReadTheFileOfEach(t *testing.T) {
	home := t.TempDir()
	getenv := func(string) string { return "" } // no folder but those below home
	var want strings.Builder
	for _, h := range hostconfig.Hosts() {
		path, connects := hostconfig.Default(h, hostconfig.Options{HomeDir: home, WorkDir: home, Getenv: getenv}), "yes"
		if path == "" {
			path, connects = filepath.Join(home, h.ID+".json"), "with `--file FILE`"
		}
		doc, err := hostconfig.Missing(h, path)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := doc.Connect(&hostconfig.Endpoint{Command: "junction", Args: []string{"up"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(clitest.In(t, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(clitest.In(t, path), data, 0o600); err != nil {
			t.Fatal(err)
		}
		options := config.Options{HomeDir: home, WorkDir: filepath.Join(home, "project"), Getenv: func(string) (string, bool) { return "", false }}
		found, reads := "no", "no"
		if slices.Contains(config.Find(options), path) {
			found = "yes"
		}
		if file, err := config.Load(path, options); err == nil && len(file.Problems) == 0 {
			if d, is := file.Server(hostconfig.OwnName); is && slices.Equal(d.Words(), []string{"junction", "up"}) {
				reads = "yes"
			}
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", h.ID, connects, found, reads)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "hosts.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "|\n|---|---|---|---|\n"+want.String()+"\n") {
		t.Errorf("docs/hosts.md has another table than:\n%s", want.String())
	}
}
