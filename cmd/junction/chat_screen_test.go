package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/toolsearch"
)

func TestWhatIsTypedIsRememberedWithinBounds(t *testing.T) {
	noState(t)
	setup := &chatSetup{app: &cli.App{Place: placeOf(t)}, flags: &chatFlags{}, search: toolsearch.New(toolsearch.Options{})}
	if err := setup.openArchive(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer setup.archive.Close()
	for i := range maxHistory / 100 {
		setup.rememberLine(fmt.Sprint("line ", i))
	}
	setup.rememberLine(strings.Repeat("x", maxHistoryLine+1))
	if got := setup.history(t.Context()); len(got) != maxHistory/100 || got[len(got)-1] != fmt.Sprint("line ", maxHistory/100-1) {
		t.Errorf("remembered %.200q", got)
	}
}
