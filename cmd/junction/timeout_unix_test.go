//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// sleeps starts, and says nothing.
var sleeps = map[string]any{"command": "sh", "args": []string{"-c", "exec sleep 600"}, "startTimeout": "4s", "timeout": "1s"}

// A command waits no longer than --timeout for a server that a junction up starts; how long that start may take is said.
func TestTimeoutBoundsAStartInUp(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{"slow": sleeps, "slower": map[string]any{"command": "sh", "args": sleeps["args"], "startTimeout": "2m"}})
	r := serving(t, "up", "--tools", "all", "--config", config)
	began := time.Now()
	runs(t, "", "call", r.url, "slower__x", "{}", "--timeout", "5s").expect(t, cli.ExitTimeout, "", `no response within 5s; the server was still starting; "startTimeout" in its entry allows it more time`)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	runs(t, "", "call", r.url, "slow__x", "{}").expect(t, cli.ExitTimeout, "", `"startTimeout" in its entry allows more time`)
	runs(t, "", "call", "slow", "x", "--own", "--timeout", "500ms", "--config", config).expect(t, cli.ExitTimeout, "", `"startTimeout" in its entry, or --timeout, allows more time`)
}

// A proxy at an address listens while its server starts: its clients learn what becomes of that.
func TestProxyListensWhileItsServerStarts(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{
		"slow": map[string]any{"command": "sh", "args": []string{"-c", "exec sleep 600"}, "startTimeout": "3s"},
		"ends": map[string]any{"command": "sh", "args": []string{"-c", "sleep 3; echo broken >&2; exit 3"}},
		"late": map[string]any{"command": "sh", "args": append([]string{"-c", `sleep 2; exec "$@"`, "sh"}, self(t, "serve", "everything")...)},
	})
	for _, test := range []struct {
		server, tool string
		code         int
		stdout, says string
	}{
		{"slow", "x", cli.ExitTimeout, "", "startTimeout"},
		{"ends", "x", cli.ExitConnection, "", "broken"},
		{"late", "echo", cli.ExitOK, "hi", ""},
	} {
		t.Run(test.server, func(t *testing.T) {
			t.Parallel()
			r := serving(t, "proxy", test.server, "--config", config)
			got := runs(t, "", "call", r.url, test.tool, `{"message":"hi"}`)
			if got.code != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.says) || strings.Contains(got.stderr, "junction up") {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", got.code, test.code, got.stdout, got.stderr)
			}
			if test.code == cli.ExitOK {
				return
			}
			code := <-r.exitCode
			if r.exitCode <- code; code != test.code {
				t.Errorf("the proxy ends with %d, want %d: %s", code, test.code, r.stderr)
			}
		})
	}
}
