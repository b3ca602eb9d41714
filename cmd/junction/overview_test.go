package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestTheListSaysWhereEachServerIsDefined(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{
		"every":  map[string]any{"command": argv[0], "args": argv[1:]},
		"off":    map[string]any{"command": argv[0], "disabled": true},
		"broken": map[string]any{"command": argv[0], "env": map[string]string{"TOKEN": "${JUNCTION_TEST_UNSET}"}},
	})
	got := runs(t, "", "list", "--config", config)
	for _, want := range []string{"every  (defined in " + config + ", 25 tools)\n", "off  (defined in " + config + ", disabled)\n", "broken  (defined in " + config + ", not connected: "} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in\n%s", want, got.stdout)
		}
	}
	if got.code != cli.ExitConnection || !strings.Contains(got.stderr, "JUNCTION_TEST_UNSET") {
		t.Errorf("got %+v", got)
	}
	if got := runs(t, "", "tools", "--config", config); !strings.Contains(got.stdout, "━━ every  (defined in "+config+", 25 tools, not started, as of less than a minute ago)\n") {
		t.Errorf("tools: %s", got.stdout)
	}
	if got := runs(t, "", "tools", "every", "--config", config); !strings.Contains(got.stderr, "every: defined in "+config+"\n") {
		t.Errorf("tools every: %+v", got)
	}
	got = runs(t, "", "list", "--json", "--config", config)
	var all struct {
		Servers map[string]struct {
			Source   string
			Disabled bool
			Tools    []json.RawMessage
			Error    *struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if s := all.Servers; len(s) != 3 || s["every"].Source != config || len(s["every"].Tools) != 25 || !s["off"].Disabled || s["broken"].Error == nil {
		t.Errorf("got %s", got.stdout)
	}
}

func TestTheListStartsNoServerThatIsRemembered(t *testing.T) {
	clitest.Alone(t)
	started := filepath.Join(t.TempDir(), "started")
	const script = `echo x >> "$1"; exec "$0" serve everything`
	config := configuration(t, map[string]any{"every": map[string]any{"command": "sh", "args": []string{"-c", script, self(t)[0], started}}})
	learn(t, config, 1)
	before, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err)
	}
	got := runs(t, "", "list", "--config", config)
	if !strings.Contains(got.stdout, "every  (defined in "+config+", 25 tools, not started, as of less than a minute ago)\n") || !strings.Contains(got.stdout, "  echo ") {
		t.Errorf("got %+v", got)
	}
	if after, _ := os.ReadFile(started); string(after) != string(before) {
		t.Errorf("it was started")
	}
	if got := runs(t, "", "list", "--config", config, "--env", "A=B"); strings.Contains(got.stdout, "not started") {
		t.Errorf("with another environment: %s", got.stdout)
	}
}

func TestShippedServersAreOfferedWithAConfiguration(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{"other": map[string]any{"url": "http://127.0.0.1:1/mcp"}})
	got := runs(t, "", "tools", "everything", "--config", config)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, "\necho") || !strings.Contains(got.stderr, "everything: ships with junction\n") {
		t.Errorf("got %+v", got)
	}
}

func TestStatusSaysWhereEachServerIsDefined(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{"every": map[string]any{"command": argv[0], "args": argv[1:]}})
	serving(t, "up", "--config", config, "every", "filesystem")
	if got := runs(t, "", "status"); !strings.Contains(got.stdout, "Servers come from\n  "+config+":") && !strings.Contains(got.stdout, config+":\n") {
		t.Errorf("got %+v", got)
	}
	all := shownStatus(t)
	if len(all) != 1 || len(all[0].Servers) != 2 || all[0].Servers[0].Source != config || all[0].Servers[1].Source != "" {
		t.Errorf("got %+v", all)
	}
}
