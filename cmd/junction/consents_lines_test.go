package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Servers of a project that nobody agreed to are one line with what to do, whichever command finds them.
func TestServersWithoutConsentAreOneLine(t *testing.T) {
	clitest.NoState(t)
	servers := map[string]any{}
	for i := range 10 {
		servers[fmt.Sprint("s", i)] = map[string]any{"command": "no-such-program-here"}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, map[string]string{".mcp.json": string(text)})
	for _, command := range [][]string{{"list"}, {"tools"}, {"doctor"}, {"chat", "-p", "hello", "--no-save"}} {
		got := runs(t, "", command...)
		if said := got.stdout + got.stderr; strings.Count(said, "there is no terminal for questions") != 1 || !strings.Contains(said, "10 servers of the project's file ") || !strings.Contains(said, "--config") {
			t.Errorf("%v: %+v", command, got)
		}
	}
}
