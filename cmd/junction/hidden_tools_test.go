package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Whatever names tools have, a call of one that rules hide is a decision in the log.
func TestACallOfAToolThatRulesHideIsInTheLogAsDenied(t *testing.T) {
	clitest.Alone(t)
	argv, err := json.Marshal(self(t, "serve", "everything"))
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]string{"rules.json": `{"default": "allow", "rules": [{"effect": "deny", "tool": "add"}]}`, "more.json": `{"default": "allow", "rules": [{"effect": "deny", "tool": "echo"}]}`} {
		if err := os.WriteFile(clitest.In(t, name), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ settings, tool, path string }{
		"with a prefix":     {``, "e__add", ""},
		"without":           {`"names": "none", `, "add", ""},
		"renamed":           {`"servers": {"e": {"tools": {"add": {"name": "sum"}}}}, `, "sum", ""},
		"by a profile":      {`"profiles": {"team": {"policy": "more.json"}}, `, "e__echo", "/team"},
		"in a profile":      {`"names": "none", "profiles": {"team": {"policy": "more.json"}}, `, "add", "/team"},
		"of two servers":    {`"names": "none", "conflicts": "priority", `, "add", ""},
		"without its rules": {`"names": "none", "servers": {"e": {"hide": ["fail"]}}, `, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			second := ""
			if name == "of two servers" {
				second = `, "f": {"command": "env", "args": ` + string(argv) + `}`
			}
			config := `{"mcpServers": {"e": {"command": "env", "args": ` + string(argv) + `}` + second + `}, "junction": {"tools": "all", "policy": "rules.json", ` + test.settings + `"audit": {"folder": "log"}}}`
			if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(clitest.In(t, "log")); err != nil {
				t.Fatal(err)
			}
			r := serving(t, "up", "--config", "mcp.json")
			c, err := mcp.Dial(t.Context(), streamable.Client(r.url+test.path))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			tool := cmp.Or(test.tool, "fail")
			for listed, err := range c.Tools(t.Context()) {
				if err != nil || listed.Name == tool {
					t.Errorf("listed is %s: %v", listed.Name, err)
				}
			}
			says := fmt.Sprintf("unknown tool %q", tool)
			if test.tool != "" { // the rules were asked
				says = "not allowed: "
			}
			if _, err := c.CallTool(t.Context(), tool, nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "did you mean") {
				t.Errorf("the call: %v", err)
			}
			r.stop()
			denied := runs(t, "", "audit", "query", "log", "--decision", "deny", "--json").stdout
			if got := strings.Count(denied, `"kind":"decision"`); got != len(test.tool)/max(len(test.tool), 1) {
				t.Errorf("%d decisions: %s", got, denied)
			}
		})
	}
}
