package cli_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

func TestALineOfStandardErrorIsAChange(t *testing.T) {
	changes := 0
	a := &cli.App{ServerStates: cli.ServerStates{Tails: cli.StderrTails{Changed: func() { changes++ }}}}
	a.StderrOf("a").Add("one")
	a.StderrOf("a").Add("two")
	a.StderrOf("b").Add("three")
	if changes != 3 {
		t.Errorf("there were %d changes, want 3", changes)
	}
}
