package main

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A gateway knows no tool of a server that never started, so what its error says is what matters.
func TestACallToAServerThatNeverStartedSaysWhy(t *testing.T) {
	clitest.Alone(t)
	if err := os.WriteFile(clitest.In(t, "u.json"), []byte(`{"mcpServers":{"bad":{"command":"no-such-program-here"},"good":{"command":"no-such-program-here"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `server "bad" is not connected: start "no-such-program-here": not found in PATH; is it installed?`
	for _, mode := range []string{"all", "search"} {
		r := serving(t, "up", "--tools", mode, "--review", "changes", "--config", "u.json")
		runs(t, "", "call", r.url, "bad__do").expect(t, cli.ExitConnection, "", want)
		runs(t, "", "call", r.url, "bad__do", "{}").expect(t, cli.ExitConnection, "", want)
		if mode == "search" {
			runs(t, "", "call", r.url, "describe_tool", "name=bad__do").expect(t, cli.ExitConnection, "", want)
		}
		runs(t, "", "call", r.url, "none__do", "{}").expect(t, cli.ExitProtocol, "", `unknown tool "none__do"`)
		r.stop()
	}
}
