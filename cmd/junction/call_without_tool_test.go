package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

func TestCallWithoutToolListsTools(t *testing.T) {
	alone(t)
	got := runs(t, "", "call", "everything")
	got.expect(t, cli.ExitUsage, "", "TOOL is missing: one of those that the server has")
	if !strings.Contains(got.stderr, "\n  echo  ") || !strings.Contains(got.stderr, "Return the message unchanged.") {
		t.Errorf("it lists no tools: %s", got.stderr)
	}
	got = runs(t, "", "call", "everything", "--json")
	if want := `{"error":{"message":"TOOL is missing: one of those that the server has"}}` + "\n"; got.code != cli.ExitUsage || got.stdout != want {
		t.Errorf("--json: %+v, want %s", got, want)
	}
}
