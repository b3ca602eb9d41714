//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A gateway whose servers still start lists some tools; who asks learns that it is a part.
func TestTheToolsOfAGatewaySayWhichServersAreMissing(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	configure(t, "mcp.json", written(t, "a", dir)+`,"late":{"command":"sleep","args":["60"]}`, `"tools":"all"`)
	r := serving(t, "up", "--config", "mcp.json")
	waitFor(t, "a is listed", func() bool { return strings.Contains(toolsAt(t, r.url), "a__echo") })
	runs(t, "", "tools", r.url).expect(t, cli.ExitOK, "a__echo", `junction: the tools of server "late" are missing: server "late" is not connected yet`)
	runs(t, "", "tools", r.url, "--json").expect(t, cli.ExitOK, `"missing":[{"server":"late","reason":"server \"late\" is not connected yet`, "")
	runs(t, "", "call", r.url+"/nosuch", "a__echo").expect(t, cli.ExitConnection, "", `there is no profile "nosuch"`)
}
