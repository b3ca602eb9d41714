//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A server whose calls get no response in the time that its entry gives is not called for a while, and status says so.
func TestAServerThatDoesNotRespondIsNotCalledForAWhile(t *testing.T) {
	clitest.Alone(t)
	entry := strings.Replace(written(t, "a", t.TempDir()), `{"command"`, `{"timeout":"200ms","command"`, 1)
	configure(t, "mcp.json", entry, `"tools": "all"`)
	r := serving(t, "up", "--config", "mcp.json")
	runs(t, "", "call", r.url, "a__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	for range 5 {
		got := runs(t, "", "call", r.url, "a__wait", "milliseconds=60000")
		if text := got.stdout + got.stderr; got.code == cli.ExitOK || !strings.Contains(text, "no response or progress for 200ms") {
			t.Fatalf("exit code %d: %s", got.code, text)
		}
	}
	got := runs(t, "", "call", r.url, "a__echo", "message=hi")
	if text := got.stdout + got.stderr; got.code == cli.ExitOK || !strings.Contains(text, "does not respond, so it gets no requests: its last 5 requests got no response") || !strings.Contains(text, "Junction tries it again in ") {
		t.Errorf("one more: exit code %d: %s", got.code, text)
	}
	runs(t, "", "status").expect(t, cli.ExitOK, "not responding: server \"a\"", "")
	waitFor(t, "a ping was answered", func() bool { return runs(t, "", "call", r.url, "a__echo", "message=hi").code == cli.ExitOK })
	runs(t, "", "status").expect(t, cli.ExitOK, "connected, revision", "")
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
}
