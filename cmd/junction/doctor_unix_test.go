//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestDoctorQuotesWhatIsNoMessageOnStandardOutput(t *testing.T) {
	alone(t)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"only":   map[string]any{"command": "sh", "args": []string{"-c", "echo 'Listening on port 3000'; exec sleep 600"}},
		"banner": map[string]any{"command": "sh", "args": []string{"-c", "echo '=== everything ==='; exec " + strings.Join(self(t, "serve", "everything"), " ")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("d.json", text, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got := runs(t, "", "doctor", "only", "--config", "d.json")
	got.expect(t, exitToolFailed, `BROKEN  start: standard output has a line that is no message of JSON-RPC, and none followed within 10s: "Listening on port 3000"`, "")
	got.expect(t, exitToolFailed, "to mend it: the server must log to standard error", "")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	runs(t, "", "doctor", "banner", "--config", "d.json").expect(t, exitOK, `CAREFUL output: standard output has a line that is no message of JSON-RPC, with which other clients fail: "=== everything ==="; the server must log to standard error`, "")
}

// What junction up refuses to start, as it would start itself, is not ok for doctor either.
func TestDoctorSeesAnEntryThatStartsTheSameGatewayAgain(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "d.json")
	entry := fmt.Sprintf(`"again":{"command":"/bin/sh","args":["-c","'%s' up --stdio --config '%s'"]}`, self(t)[0], config)
	configure(t, config, entry, "")
	got := runs(t, "", "doctor", "--config", config)
	if got.code == exitOK || !strings.Contains(got.stdout, "this gateway is started by itself") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

func TestARemedyIsForTheKindOfServer(t *testing.T) {
	err := errors.New("the server answered with a status of 405")
	if got := startRemedy(streamable.Client("http://127.0.0.1:1/mcp"), err, "s", 0); !strings.Contains(got, "is the address right?") {
		t.Errorf("of a URL: %s", got)
	}
	if got := startRemedy(command.New("x"), err, "s", 0); !strings.Contains(got, "start it by hand") {
		t.Errorf("of a program: %s", got)
	}
	if got := startRemedy(command.New("x"), errors.New(`working directory "/none" does not exist`), "s", 0); !strings.Contains(got, `change "cwd"`) {
		t.Errorf("of a folder: %s", got)
	}
}
