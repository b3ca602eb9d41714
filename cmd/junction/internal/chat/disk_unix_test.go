//go:build unix

package chat_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A pipe that nobody writes to would keep the card waiting.
func TestAPipeIsNotRead(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if text, ok := chat.FileReader(clitest.PlaceOf(t), []string{folder})(pipe); ok {
		t.Errorf("read %q", text)
	}
}
