package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Who types into a terminal and sends standard error elsewhere gets a reason, and does not wait before nothing.
func TestAConversationWithoutAScreenIsRefused(t *testing.T) {
	clitest.Alone(t)
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("skip: there is no pseudo-terminal: ", err)
	}
	defer keyboard.Close()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), clitest.PlaceOf(t), []string{"chat", "--model", "offline"}, keyboard, &stdout, &stderr); code != cli.ExitUsage || !strings.Contains(stderr.String(), "standard error") {
		t.Errorf("it ends with %d: %s%s", code, &stdout, &stderr)
	}
}
