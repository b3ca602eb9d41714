package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/guard"
)

// An answer that was made without a server that waits for approval is none to a script, which reads which server that is.
func TestAnswersWithoutAServerFail(t *testing.T) {
	clitest.NoState(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{"kept": map[string]any{"command": "env", "args": argv}})
	chat := func(more ...string) outcome {
		return runs(t, "", append([]string{"chat", "--config", config, "--no-save", "-p", "echo hello"}, more...)...)
	}
	const warning = "junction: warning: the answer was made without kept, which was not approved"
	chat().expect(t, cli.ExitToolFailed, "No tool matches", warning+"\n")
	chat("--approve", "kept@0123456789abcdef").expect(t, cli.ExitToolFailed, "No tool matches", warning+"; --approve kept@0123456789abcdef did not apply, because changed definitions need their hash\n")
	if got := chat("--approve", "kept"); got.code != cli.ExitOK || strings.Contains(got.stderr, "warning") {
		t.Errorf("approved: %+v", got)
	}
	if got := chat(); got.code != cli.ExitOK || strings.Contains(got.stderr, "warning") {
		t.Errorf("approved before: %+v", got)
	}
	path, err := clitest.PlaceOf(t).State("pins.json")
	if err != nil {
		t.Fatal(err)
	}
	pins, err := guard.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range pins.Approved("kept") {
		if d.Kind == guard.Tool {
			d.Description += " It was another one."
			pins.Forget("kept")
			if err := policies.ApproveDefinitions(pins, "kept", []guard.Definition{d}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	chat("--approve", "kept").expect(t, cli.ExitToolFailed, "No tool matches", warning+"; --approve kept did not apply, because changed definitions need their hash\n")
}
