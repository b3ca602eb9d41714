package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// endsSaying is a program that ends with a line on its standard error.
func endsSaying(t *testing.T, line string) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	return []string{sh, "-c", `printf '%s\n' "$1" >&2; exit 1`, "sh", line}
}

// noToolsServer is a server that starts, and answers with an error when it is to list its tools.
func noToolsServer(t *testing.T) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	return []string{sh, "-c", `while read -r line; do
		id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
		case $line in
		*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}' ;;
		*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32603,"message":"fetch failed"}}' ;;
		*) [ -z "$id" ] || echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}' ;;
		esac
	done`}
}

func TestAServerThatDoesNotListItsToolsIsNotAdded(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["@x/echo@4.0.0"] = noToolsServer(t)
	s.runs(t, "", "add", "npm:@x/echo@4.0.0", "--yes").expect(t, cli.ExitConnection, "",
		`server "echo" starts, and does not list its tools, so nothing was changed: fetch failed (code -32603); fix: if its author documents arguments or variables: junction server add npm:@x/echo@4.0.0 --env NAME=VALUE -- ARGUMENT…`)
	if configuration, lock := pair(t); configuration+lock != "" {
		t.Errorf("it was added: %s %s", configuration, lock)
	}
}

func TestAPackageThatWasMadeForAnOlderMCPGetsIt(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.newest["mcp-timer"] = "1.0"
	s.versions["mcp-timer@1.0"] = endsSaying(t, "ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, where FastMCP was renamed to MCPServer (from mcp.server.mcpserver import MCPServer) and other APIs changed; see the migration guide or pin 'mcp<2' to keep running v1 code.")
	s.runs(t, "", "add", "pypi:mcp-timer", "--yes").expect(t, cli.ExitConnection, "", "No module named 'mcp.server.fastmcp'; fix: ")
	s.versions["mcp-timer@1.0 with mcp<2"] = self(t, "serve", "time")
	s.runs(t, "", "add", "pypi:mcp-timer", "--yes", "--with", "mcp>1").expect(t, cli.ExitConnection, "", "junction server add pypi:mcp-timer --with \"mcp>1\" --env")
	out := s.runs(t, "", "add", "pypi:mcp-timer", "--yes", "--env", "A=b")
	out.expect(t, cli.ExitOK, `Added "timer"`, "")
	for _, want := range []string{"it is held to mcp<2", `written  uvx --with "mcp<2" mcp-timer==1.0`} {
		if !strings.Contains(strings.Join(strings.Fields(out.stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("not shown is %q: %s", want, out.stdout)
		}
	}
	s.runs(t, "", "call", "timer", "get_current_time", "timezone=UTC", "--frozen").expect(t, cli.ExitOK, "UTC", "")
}

func TestSuggestedCommandsRepeatArgumentsWithoutSecrets(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["@x/echo@4.0.0"] = endsSaying(t, "Error: ECHO_KEY is required")
	s.runs(t, "", "add", "npm:@x/echo@4.0.0", "--yes", "--name", "my echo", "--env", "A=hidden", "--env", "B=hidden", "--host", "a.example", "--", "--token", "hidden", "--stdio").
		expect(t, cli.ExitConnection, "", `the server needs the environment variable ECHO_KEY: junction server add npm:@x/echo@4.0.0 --env A=… --env B=… --host a.example --name "my echo" --env ECHO_KEY=… -- --token "***" --stdio; for a secret`)
}

func TestTheExtrasOfAPackageAreNotInItsName(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["excel-agent-mcp[mcp]@1.0"] = self(t, "serve", "time")
	s.runs(t, "", "add", "pypi:excel-agent-mcp[mcp]@1.0", "--yes").expect(t, cli.ExitOK, `Added "excel-agent" to`, "")
}
