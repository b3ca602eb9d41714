//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
)

// A pipe that nobody writes to would keep the card waiting.
func TestAPipeIsNotRead(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if text, ok := chat.FileReader(placeOf(t), []string{folder})(pipe); ok {
		t.Errorf("read %q", text)
	}
}
