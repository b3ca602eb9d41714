package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAnEffortThatCannotBeAskedForIsRefused(t *testing.T) {
	clitest.NoState(t)
	for want, flags := range map[string][]string{
		"expected one of default, low, medium, high": {"--model", "ollama:x", "--effort", "huge"},
		"deepseek takes none":                        {"--model", "deepseek:x", "--effort", "low"},
	} {
		if got := runs(t, "", append([]string{"chat", "-p", "x"}, flags...)...); got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%+v", got)
		}
	}
}
