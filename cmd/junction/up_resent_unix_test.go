//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A server that is killed while it runs a call that only reads is started again and gets the call again; the audit
// log says that it was sent twice.
func TestTheAuditLogSaysThatACallWasSentAgain(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	configure(t, "mcp.json", written(t, "a", dir), `"tools": "all"`)
	r := serving(t, "up", "--config", "mcp.json", "--audit=log")
	runs(t, "", "call", r.url, "a__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	begun, done := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	c, err := mcp.DialWith(t.Context(), streamable.Client(r.url), mcp.ClientOptions{OnProgress: func(mcp.ProgressUpdate) { once.Do(func() { close(begun) }) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		_, err := c.CallTool(t.Context(), "a__count-slowly", map[string]int{"milliseconds": 1000, "steps": 4})
		done <- err
	}()
	<-begun
	text, _ := os.ReadFile(filepath.Join(dir, "a"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the call: %v", err)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	runs(t, "", "audit", "query", "log", "--tool", "count-slowly").expect(t, cli.ExitOK, "sent again 1×", "")
	runs(t, "", "audit", "query", "log", "--tool", "count-slowly", "--json").expect(t, cli.ExitOK, `"resent":1`, "")
	if got := runs(t, "", "audit", "query", "log", "--tool", "echo"); strings.Contains(got.stdout, "sent again") {
		t.Errorf("the other call: %s", got.stdout)
	}
}
