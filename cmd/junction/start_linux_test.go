package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// On a terminal junction alone shows what is configured, and starts none of it.
func TestJunctionAloneOnATerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(`{"mcpServers": {"every": {"command": "touch", "args": ["started"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	keyboard, screen := clitest.PseudoTerminal(t)
	cmd := clitest.PlaceOf(t).Command(t.Context(), self(t)[0])
	cmd.Dir = home
	cmd.Env = append(clitest.PlaceOf(t).Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	defer time.AfterFunc(20*time.Second, func() { keyboard.Close() }).Stop()
	var shown []string
	for lines := bufio.NewScanner(keyboard); lines.Scan(); {
		shown = append(shown, strings.TrimSpace(lines.Text()))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	text := strings.Join(shown, "\n")
	for _, want := range []string{"1 server\n~/mcp.json: every\n", "Running\nno junction up\n", "\njunction --help "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "started")); err == nil {
		t.Error("the server was started")
	}
}
