package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// records are the lines of standard error, each of which is a record of slog.
func records(t *testing.T, stderr string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(stderr) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%v: %q", err, line)
			continue
		}
		if _, err := time.Parse(time.RFC3339, r["time"].(string)); err != nil || r["level"] == "" || r["msg"] == "" {
			t.Errorf("no record: %q", line)
		}
		all = append(all, r)
	}
	return all
}

// All that junction up writes to standard error is JSON if that is wanted: what it serves, what servers do, and why it ended.
func TestUpLogsAsJSON(t *testing.T) {
	clitest.Alone(t)
	config := `{"mcpServers": {"broken": {"command": "no-such-program-anywhere"}, "odd": {"command": "x", "comand": "y"}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json", "--log-format", "json", "--audit=log")
	for deadline := time.Now().Add(guardTime); !strings.Contains(r.stderr.String(), `"server":"broken","state":"failed"`); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it says %s", r.stderr)
		}
	}
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(strings.Replace(config, `"broken": {`, `"broken": {"args": ["again"], `, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the reload is logged", func() bool { return strings.Contains(r.stderr.String(), "Configuration reloaded") })
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if said := r.stderr.String(); !strings.Contains(said, `"msg":"Configuration reloaded","changes":"broken changed"`) {
		t.Errorf("of the reload it says %s", said)
	}
	levels := map[any]int{}
	for _, record := range records(t, r.stderr.String()) {
		levels[record["level"]]++
		if record["msg"] == "server" && record["server"] == "broken" && record["state"] == "failed" && (record["level"] != "WARN" || !strings.Contains(record["detail"].(string), "no-such-program-anywhere")) {
			t.Errorf("of the server it says %v", record)
		}
	}
	if levels["INFO"] == 0 || levels["WARN"] == 0 {
		t.Errorf("levels are %v in %s", levels, r.stderr)
	}
	again := runs(t, "", "up", "--config", "mcp.json", "--log-format", "json", "--log-level", "error", "--http", "127.0.0.1:0", "--policy", "none.json")
	if got := records(t, again.stderr); again.code != cli.ExitConnection || len(got) != 1 || got[0]["level"] != "ERROR" || !strings.Contains(got[0]["msg"].(string), "none.json") {
		t.Errorf("exit code %d: %s", again.code, again.stderr)
	}
	runs(t, "", "up", "--log-format", "xml").expect(t, cli.ExitUsage, "", `--log-format: expected one of "text", "json", got "xml"`)
	runs(t, "", "proxy", "everything", "--log-level", "loud").expect(t, cli.ExitUsage, "", `--log-level: expected one of "debug", "info", "warn", "error", got "loud"`)
}

func TestProxyLogsAsJSON(t *testing.T) {
	clitest.Alone(t)
	got := runs(t, "", "proxy", "--http", "127.0.0.1:0", "--log-format", "json", "--", "no-such-program-anywhere")
	if all := records(t, got.stderr); got.code != cli.ExitConnection || len(all) != 1 || all[0]["level"] != "ERROR" {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	r := serving(t, "proxy", "everything", "--log-format", "json", "--log-level", "debug")
	runs(t, "", "call", r.url, "echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	records(t, r.stderr.String())
}
