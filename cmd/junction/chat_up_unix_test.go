//go:build unix

package main

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// chat --up finds the junction up of this user at whatever address it is.
func TestAChatFindsTheGatewayThatRuns(t *testing.T) {
	clitest.NoState(t)
	clitest.WithoutKeys(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{"everything": map[string]any{"command": argv[0], "args": argv[1:]}})
	first := upServing(t, config)
	runs(t, "", "chat", "--up", "--approve", "junction", "-p", "add 2 and 40").expect(t, cli.ExitOK, "42\n", "")
	second := upServing(t, config)
	got := runs(t, "", "chat", "--up", "--approve", "junction", "-p", "add 2 and 40")
	got.expect(t, cli.ExitUsage, "", "--up: several junction up are running, at http://127.0.0.1:")
	got.expect(t, cli.ExitUsage, "", first)
	got.expect(t, cli.ExitUsage, "", second)
	got.expect(t, cli.ExitUsage, "", "; choose one, as in --up=http://127.0.0.1:")
	runs(t, "", "chat", "--up=here", "-p", "x").expect(t, cli.ExitUsage, "", `--up: expected a URL such as http://127.0.0.1:7717/mcp, got "here"`)
}

// Who has no key reads how to give one.
func TestMissingKeyAndGatewayNameTheRemedy(t *testing.T) {
	clitest.NoState(t)
	clitest.WithoutKeys(t)
	r := serving(t, "up", "--auth", "keys", "everything")
	const wanted = "HTTP status 401: not authenticated (-32600); give a key, such as one from junction key create, with --header 'Authorization: Bearer KEY'\n"
	runs(t, "", "chat", "--up", "-p", "x").expect(t, cli.ExitConnection, "", wanted)
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, cli.ExitConnection, "", wanted)
	runs(t, "", "tools", r.url).expect(t, cli.ExitConnection, "", wanted)
	runs(t, "", "call", r.url, "everything__add", "--header", "authorization: Bearer x").expect(t, cli.ExitConnection, "", "; the server does not accept the Authorization of --header\n")
	const nothing = "connection refused; nothing listens there: junction status shows the running gateways, and junction up starts one; a junction proxy ends with a message if its server does not start\n"
	runs(t, "", "call", "http://127.0.0.1:1/mcp", "x").expect(t, cli.ExitConnection, "", nothing)
	runs(t, "", "chat", "--up=http://127.0.0.1:1/mcp", "-p", "x").expect(t, cli.ExitConnection, "", nothing)
}
