//go:build unix

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
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
