package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
)

func TestUpKeepsAsMuchOfItsAuditLogAsTheSettingsSay(t *testing.T) {
	alone(t)
	config := `{"mcpServers": {}, "junction": {"audit": {"folder": "log", "maxFile": "1KB", "keep": "900KB", "keepFor": "2160h"}}}`
	if err := os.WriteFile("mcp.json", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json", "--audit-keep", "4KB", "everything")
	for i := range 20 {
		runs(t, "", "call", r.url, "everything__echo", fmt.Sprintf("message=%d", i)).expect(t, exitOK, fmt.Sprint(i), "")
	}
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	files, _ := filepath.Glob("log/*.jsonl")
	var total int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(files) < 2 || total > 7_000 {
		t.Errorf("%d bytes are in %v", total, files)
	}
	runs(t, "", "audit", "verify", "log").expect(t, exitOK, "it is as it was written", "")
}

func TestDefinitionsAreReadOnceForTheAuditLog(t *testing.T) {
	var r readDefinitions
	for i := range 2*maxRead + 10 {
		one := []byte(fmt.Sprintf(`{"name":"t%d","annotations":{"readOnlyHint":true}}`, i))
		for range 2 {
			if hash, hints := r.of(one); hash != audit.HashOf(one) || string(hints) != `{"readOnly":true}` {
				t.Fatalf("of %s: %s, %s", one, hash, hints)
			}
		}
	}
	if len(r.all) > maxRead {
		t.Errorf("%d definitions are remembered", len(r.all))
	}
}

func BenchmarkDescribe(b *testing.B) {
	definition := []byte(`{"name":"read","description":"` + strings.Repeat("Reads a file. ", 100) + `","annotations":{"readOnlyHint":true}}`)
	var r readDefinitions
	b.ReportAllocs()
	for b.Loop() {
		r.of(definition)
	}
}

func TestWhatALimitRefusesIsADecisionInTheLog(t *testing.T) {
	alone(t)
	argv := strings.Join(self(t, "serve", "everything"), `","`)
	config := `{"mcpServers": {"everything": {"command": "env", "args": ["` + argv + `"]}}, "junction": {"tools": "all", "audit": {"folder": "log"},
		"servers": {"everything": {"tools": {"add": {"limits": {"rate": "1/h"}}}}}}}`
	if err := os.WriteFile("mcp.json", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json")
	runs(t, "", "call", r.url, "everything__add", "a=2", "b=40").expect(t, exitOK, "42", "")
	runs(t, "", "call", r.url, "everything__add", "a=2", "b=40").expect(t, exitToolFailed, "too many calls: 1 in an hour are allowed", "")
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	denied := runs(t, "", "audit", "query", "log", "--decision", "deny", "--json")
	denied.expect(t, exitOK, `"decision":"deny","rule":"the limit of tool add of server everything","reason":"too many calls: 1 in an hour are allowed for tool add of server everything; try again in`, "")
	if n := strings.Count(denied.stdout, "\n"); n != 1 {
		t.Errorf("%d decisions: %s", n, denied.stdout)
	}
}
