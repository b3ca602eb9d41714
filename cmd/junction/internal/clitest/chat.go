package clitest

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
)

// NoState prepares a test that runs without a model, and without the state of the user.
func NoState(t *testing.T) {
	t.Helper()
	Alone(t)
	Setenv(t, "JUNCTION_STATE", t.TempDir())
	for _, name := range []string{chat.ModelEnv, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NO_COLOR"} {
		Setenv(t, name, "")
	}
}
