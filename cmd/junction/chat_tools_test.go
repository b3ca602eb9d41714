package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host"
)

func TestToolsOfChat(t *testing.T) {
	clitest.NoState(t)
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"a sub-agent", []string{"-p", `task task="add 2 and 40" name=adder`}, "42"},
		{"a sub-agent with the tools of one server", []string{"-p", `task task="add 2 and 40" tools=["filesystem"]`}, "No tool matches these"},
		{"a note is kept", []string{"-p", `remember text="Ada paints her kitchen in sage green"`, "--allow", "host/remember"}, "Remembered as note 1."},
		{"and found in the next conversation", []string{"-p", "recall words=kitchen"}, "sage green (note 1 of "},
		{"to keep one is asked about", []string{"-p", `remember text="and in blue"`}, "remember failed"},
		{"nothing is stored", []string{"-p", "recall words=kitchen", "--no-save"}, "No tool matches these"},
	} {
		code := cli.ExitOK
		if strings.Contains(test.want, "failed") { // the only call was not allowed
			code = cli.ExitToolFailed
		}
		if got := runs(t, "", append([]string{"chat"}, test.args...)...); got.code != code || !strings.Contains(got.stdout, test.want) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestEventsOfASubAgentBelongToItsCall(t *testing.T) {
	clitest.NoState(t)
	question := []string{"chat", "-p", `task task="add 2 and 40" name=adder`}
	got := runs(t, "", append(question, "--json")...)
	var outer string
	var within []string
	for line := range strings.Lines(got.stdout) {
		var e host.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Called != nil:
			outer = e.Called.CallID
		case e.Child != nil && (e.Child.CallID != outer || e.Child.Agent != "adder"):
			t.Errorf("%s is not of the call %s", line, outer)
		case e.Child != nil && e.Child.Event.Called != nil:
			within = append(within, e.Child.Event.Called.Tool)
		}
	}
	if !slices.Equal(within, []string{"add"}) {
		t.Errorf("the sub-agent called %q:\n%s", within, got.stdout)
	}
	got = runs(t, "", append(question, "--trace")...)
	if !strings.Contains(got.stderr, "\n     4  call        adder: add: {") {
		t.Errorf("the trace is\n%s", got.stderr)
	}
}

func TestAServerThatIsCalledAsTheToolsOfChat(t *testing.T) {
	clitest.NoState(t)
	config := `{"mcpServers":{"Host":{"command":"none"}}}`
	if err := os.WriteFile(clitest.In(t, "servers.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	const remedy = `server "Host" is left out, because Junction's built-in tools use that name: rename it in `
	got := runs(t, "", "chat", "-p", "x", "--config", "servers.json")
	if got.code != cli.ExitOK || !strings.Contains(got.stderr, remedy) || !strings.Contains(got.stderr, "servers.json") {
		t.Errorf("with all servers: %+v", got)
	}
	if got = runs(t, "", "chat", "Host", "-p", "x", "--config", "servers.json"); got.code != cli.ExitConnection || !strings.Contains(got.stderr, remedy) {
		t.Errorf("by its name: %+v", got)
	}
	for _, origin := range []string{"/usr/bin/host", "https://host/mcp"} {
		if got := host.ServerName(origin); got != host.OwnServer+"-server" {
			t.Errorf("%s is called %q", origin, got)
		}
	}
}
