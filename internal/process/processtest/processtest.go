// Package processtest writes programs that tests start.
package processtest

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/internal/process"
)

// WriteProgram writes a program that can be started immediately, even while other tests start
// programs.
func WriteProgram(t testing.TB, path string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := process.WithoutStarts(func() error { return os.WriteFile(path, content, mode) }); err != nil {
		t.Fatal(err)
	}
}
