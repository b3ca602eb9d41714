package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestUpKeepsAsMuchOfItsAuditLogAsTheSettingsSay(t *testing.T) {
	clitest.Alone(t)
	config := `{"mcpServers": {}, "junction": {"audit": {"folder": "log", "maxFile": "1KB", "keep": "900KB", "keepFor": "2160h"}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json", "--audit-keep", "4KB", "everything")
	for i := range 20 {
		runs(t, "", "call", r.url, "everything__echo", fmt.Sprintf("message=%d", i)).expect(t, cli.ExitOK, fmt.Sprint(i), "")
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	files, _ := filepath.Glob(clitest.In(t, "log/*.jsonl"))
	var total int64
	for _, name := range files {
		info, err := os.Stat(clitest.In(t, name))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(files) < 2 || total > 7_000 {
		t.Errorf("%d bytes are in %v", total, files)
	}
	runs(t, "", "audit", "verify", "log").expect(t, cli.ExitOK, "it is unchanged", "")
}

// Where calls are refused, because they cannot be logged, whoever watches over the gateway sees it.
func TestAnAuditLogThatCannotBeWrittenIsSeen(t *testing.T) {
	inFolder(t)
	clitest.Setenv(t, "JUNCTION_STATE", t.TempDir())
	r := serving(t, "up", "--audit=log", "--audit-export", "http://127.0.0.1:9/v1/logs", "--admin", "127.0.0.1:0", "everything")
	printed, admin := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`), ""
	for end := time.Now().Add(guardTime); admin == "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		admin = printed.FindString(r.stderr.String())
	}
	get := func(path string) string {
		response, err := http.Get(strings.TrimSuffix(admin, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return fmt.Sprint(response.StatusCode, " ", string(body))
	}
	runs(t, "", "call", r.url, "everything__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	if got := get("/metrics"); !strings.Contains(got, "junction_audit_writable 1\n") || !strings.Contains(got, "junction_audit_export_waiting ") {
		t.Errorf("metrics: %s", got)
	}
	if got := get("/readyz"); got != "200 ok\n" {
		t.Errorf("it is ready: %s", got)
	}
	if err := os.Rename(clitest.In(t, "log"), clitest.In(t, "elsewhere")); err != nil {
		t.Skipf("skip: an open folder cannot be moved here: %v", err)
	}
	for end := time.Now().Add(guardTime); ; time.Sleep(50 * time.Millisecond) {
		got := get("/readyz")
		if strings.HasPrefix(got, "503 calls are refused, because they cannot be logged: ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is ready: %s", got)
		}
	}
	runs(t, "", "call", r.url, "everything__echo", "message=hi").expect(t, cli.ExitRefused, "", "was not handled")
	runs(t, "", "status").expect(t, cli.ExitOK, "\nCalls are refused, because they cannot be logged: the audit log cannot be written: the folder log was moved or removed", "")
	if got := get("/metrics"); !strings.Contains(got, "junction_audit_writable 0\n") {
		t.Errorf("metrics: %s", got)
	}
	if err := os.Rename(clitest.In(t, "elsewhere"), clitest.In(t, "log")); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "call", r.url, "everything__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	if got := get("/readyz"); got != "200 ok\n" {
		t.Errorf("it is ready again: %s", got)
	}
	runs(t, "", "status").expect(t, cli.ExitOK, "\nNot exported to http://127.0.0.1:9/v1/logs: ", "")
	if code := r.stop(); code != cli.ExitOK || !strings.Contains(r.stderr.String(), "lines were not exported to http://127.0.0.1:9/v1/logs") {
		t.Errorf("it ends with %d: %s", code, r.stderr)
	}
}

func TestSecretsHiddenFromAServerAreNotInTheLog(t *testing.T) {
	clitest.Alone(t)
	argv := strings.Join(self(t, "serve", "everything"), `","`)
	config := `{"mcpServers": {"e": {"command": "env", "args": ["` + argv + `"]}}, "junction": {"tools": "all", "audit": {"folder": "log"}, "policy": "rules.json",
		"servers": {"e": {"hide": ["fail"], "redact": {"arguments": ["/reason", "/to"]}, "tools": {"echo": {"redact": {"arguments": ["/message"]}}}}}}}`
	if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(`{"default": "allow", "rules": [{"effect": "deny", "tool": "count*"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json")
	runs(t, "", "call", r.url, "e__echo", "message=my own words").expect(t, cli.ExitOK, "***", "")
	runs(t, "", "call", r.url, "e__add", "a=1", "b=2").expect(t, cli.ExitOK, "3", "")
	c, err := mcp.Dial(t.Context(), streamable.Client(r.url))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, arguments := range map[string]any{ // which clients do not see
		"e__count": map[string]any{"to": "my own words"},     // hidden by a rule
		"e__fail":  map[string]any{"reason": "my own words"}, // by the settings
		"other":    map[string]any{"message": "my own words"},
	} {
		if result, err := c.CallTool(t.Context(), name, arguments); err == nil && !result.IsError {
			t.Errorf("%s answers %s", name, result.Text())
		}
	}
	r.stop()
	for _, tool := range []string{"count", "fail"} {
		if got := runs(t, "", "audit", "query", "log", "--json", "--server", "e", "--kind", "call").stdout; !strings.Contains(got, `"server":"e","tool":"`+tool+`"`) {
			t.Errorf("the log has of %s: %s", tool, got)
		}
	}
	if got := runs(t, "", "audit", "query", "log", "--json").stdout; strings.Contains(got, "my own words") || !strings.Contains(got, `"arguments":{"message":"***"}`) || !strings.Contains(got, `"arguments":{"a":1,"b":2}`) {
		t.Errorf("the log has %s", got)
	}
	runs(t, "", "audit", "query", "log", "--tool", "nosuch").expect(t, cli.ExitOK, "", "No line matches.")
	runs(t, "", "audit", "query", "log", "--outcome", "denied").expect(t, cli.ExitUsage, "", `--outcome: expected one of ok, tool_error, input_required, cancelled, error, got "denied"; to find calls that rules refused, use --decision deny`)
	runs(t, "", "audit", "tail", "log", "--decision", "no").expect(t, cli.ExitUsage, "", `--decision: expected one of allow, ask, deny, got "no"`)
	runs(t, "", "audit", "query", "log", "--kind", "calls").expect(t, cli.ExitUsage, "", `--kind: expected one of call, decision, admin, checkpoint, note, expired, all, got "calls"`)
}

func TestCallsRefusedByALimitAreDecisionsInTheLog(t *testing.T) {
	clitest.Alone(t)
	argv := strings.Join(self(t, "serve", "everything"), `","`)
	config := `{"mcpServers": {"everything": {"command": "env", "args": ["` + argv + `"]}}, "junction": {"tools": "all", "audit": {"folder": "log"},
		"servers": {"everything": {"tools": {"add": {"limits": {"rate": "1/h"}}}}}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json")
	runs(t, "", "call", r.url, "everything__add", "a=2", "b=40").expect(t, cli.ExitOK, "42", "")
	runs(t, "", "call", r.url, "everything__add", "a=2", "b=40").expect(t, cli.ExitRefused, "", "too many calls: 1 in an hour are allowed")
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	denied := runs(t, "", "audit", "query", "log", "--decision", "deny", "--json")
	denied.expect(t, cli.ExitOK, `"decision":"deny","rule":"the limit of tool add of server everything","reason":"too many calls: 1 in an hour are allowed for tool add of server everything; try again in`, "")
	if n := strings.Count(denied.stdout, "\n"); n != 1 {
		t.Errorf("%d decisions: %s", n, denied.stdout)
	}
}

func TestTailEndsQuietly(t *testing.T) {
	clitest.Alone(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(cli.ErrInterrupted)
	var stdout, stderr clitest.SafeBuffer
	if code := run(ctx, clitest.PlaceOf(t), []string{"audit", "tail", t.TempDir()}, strings.NewReader(""), &stdout, &stderr); code != cli.ExitInterrupted || stdout.String()+stderr.String() != "" {
		t.Errorf("exit code %d, %s%s", code, stdout.String(), stderr.String())
	}
	runs(t, "", "audit", "query", t.TempDir()).expect(t, cli.ExitOK, "", "No line matches.")
}
