package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
)

func TestInspectConnectsBeforeThePageIsOpened(t *testing.T) {
	clitest.Alone(t)
	ask := pageServed(t, "inspect", "everything")
	status, text := ask(http.MethodGet, "connections", "")
	var got struct {
		Connections []struct{ ID, Name string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || len(got.Connections) != 1 || got.Connections[0].Name != "everything" {
		t.Errorf("the console has the connections %d: %s", status, text)
	}
}

func TestInspectTakesTheWordsOfCall(t *testing.T) {
	clitest.Alone(t)
	for _, c := range []struct{ args, problem string }{
		{"", "SERVER is missing"},
		{"--", "expected the command of a server after \"--\""},
		{"everything another", "expected one server"},
		{"everything -- prog", "expected one server"},
		{"everything --header A:1", "do not apply to a configured server"},
		{"http://127.0.0.1:1/mcp --env A=1", "--env is for the command"},
		{"--header A:1 -- prog", "--header is for servers with a URL"},
		{"--env A -- prog", "expected NAME=VALUE"},
		{"everything --revision 1999-01-01", "does not support"},
	} {
		runs(t, "", append([]string{"inspect"}, strings.Fields(c.args)...)...).expect(t, cli.ExitUsage, "", c.problem)
	}
}

func TestConsoleListsServers(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers": {"site": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer hidden"}}, "bad": {"command": 7}}}`})
	ask := consoleServed(t, "--config", "servers.json")
	status, text := ask(http.MethodGet, "servers", "")
	var got struct {
		Servers  []watch.InspectableServer
		Problems []string
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d: %s", status, text)
	}
	if s := got.Servers[0]; s.Name != "site" || !strings.Contains(s.Reached, "https://example.com/mcp") || !strings.Contains(s.Origin, "servers.json") || strings.Contains(text, "hidden") {
		t.Errorf("the first server is %+v, of %s", s, text)
	}
	if len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "bad") || len(got.Servers) != 1+len(cli.ShippedNames()) {
		t.Errorf("there are %d servers and the problems %q", len(got.Servers), got.Problems)
	}
}
