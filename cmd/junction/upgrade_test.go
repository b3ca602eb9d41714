package main

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestUpgradeAdvisesOnUnlockedServers(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	const loose = `{"mcpServers":{"m":{"command":"npx","args":["-y","@x/memory"]},"range":{"command":"uvx","args":["time>=1"]},"third":{"command":"dnx","args":["x"]},
		"off":{"command":"npx","args":["x"],"disabled":true},"own":{"command":"sleep","args":["1"]}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(loose), 0o600); err != nil {
		t.Fatal(err)
	}
	const line = "Started by npx, uvx or dnx and never locked: m, range, third; junction server upgrade NAME installs and locks one, and later upgrades include it.\n"
	if got := s.runs(t, "", "upgrade", "--config", "mcp.json"); got.code != cli.ExitOK || got.stdout != line {
		t.Errorf("exit code %d, it prints\n%s%s", got.code, got.stdout, got.stderr)
	}
	s.runs(t, "", "add", "npm:@x/echo@2.0.0", "--yes", "--config", "mcp.json").expect(t, cli.ExitOK, "Added", "")
	s.runs(t, "", "upgrade", "--config", "mcp.json").expect(t, cli.ExitOK, "echo: 2.0.0 is the newest version.\n"+line, "")
	s.runs(t, "", "upgrade", "range", "--config", "mcp.json").expect(t, cli.ExitConnection, "",
		"does not name the exact version and package to lock; write uvx as in junction server upgrade --help, without a range or other options")
	s.runs(t, "", "upgrade", "own", "--config", "mcp.json").expect(t, cli.ExitConnection, "", "is not a command line of npx, uvx or dnx")
}
