package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/toolsearch"
)

func TestInputHistoryIsBounded(t *testing.T) {
	clitest.NoState(t)
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}, Flags: &chat.Flags{}, Search: toolsearch.New(toolsearch.Options{})}
	if err := setup.OpenArchive(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer setup.Archive.Close()
	for i := range chat.MaxHistory / 100 {
		setup.RememberLine(fmt.Sprint("line ", i))
	}
	setup.RememberLine(strings.Repeat("x", chat.MaxHistoryLine+1))
	if got := setup.History(t.Context()); len(got) != chat.MaxHistory/100 || got[len(got)-1] != fmt.Sprint("line ", chat.MaxHistory/100-1) {
		t.Errorf("remembered %.200q", got)
	}
}
