package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestLinesAreWrappedOnlyOnATerminal(t *testing.T) {
	clitest.Alone(t)
	name := strings.Repeat("long", 10)
	config := configuration(t, map[string]any{name: map[string]any{"command": filepath.Join(t.TempDir(), strings.Repeat("missing", 10))}})
	r := serving(t, "up", "--config", config)
	for deadline := time.Now().Add(guardTime); !strings.Contains(r.stderr.String(), "failed"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(r.stderr)
		}
	}
	got := runs(t, "", "status")
	for what, text := range map[string]string{"status": got.stdout, "up": r.stderr.String()} {
		if !regexp.MustCompile(`(?m)` + name + `  failed: .*missing.*is it installed\?$`).MatchString(text) {
			t.Errorf("%s:\n%s", what, text)
		}
	}
}

func TestServersThatCannotStartFailAtOnce(t *testing.T) {
	clitest.Alone(t)
	servers := map[string]any{
		"z-missing": map[string]any{"command": "no-such-program"},
		"z-unset":   map[string]any{"command": "sh", "env": map[string]string{"TOKEN": "${JUNCTION_TEST_UNSET}"}},
	}
	for i := range max(2, runtime.GOMAXPROCS(0)) + 1 {
		servers[fmt.Sprint("mute", i)] = map[string]any{"command": "sh", "args": []string{"-c", "cat > /dev/null"}}
	}
	r := serving(t, "up", "--config", configuration(t, servers))
	for deadline := time.Now().Add(guardTime); ; time.Sleep(10 * time.Millisecond) {
		all := shownStatus(t)
		if len(all) == 1 && strings.Contains(all[0].Summary, ", 2 failed") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v\n%s", all, r.stderr)
		}
	}
}
