package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/toolsearch"
)

func TestWhatIsTypedIsRememberedWithinBounds(t *testing.T) {
	seated(t)
	table := &table{app: &app{}, flags: &chatFlags{}, search: toolsearch.New(toolsearch.Options{})}
	if err := table.openArchive(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer table.archive.Close()
	for i := range maxHistory / 100 {
		table.rememberLine(fmt.Sprint("line ", i))
	}
	table.rememberLine(strings.Repeat("x", maxHistoryLine+1))
	if got := table.history(t.Context()); len(got) != maxHistory/100 || got[len(got)-1] != fmt.Sprint("line ", maxHistory/100-1) {
		t.Errorf("remembered %.200q", got)
	}
}
