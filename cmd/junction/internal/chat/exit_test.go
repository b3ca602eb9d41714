package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
)

func TestAConversationThatTheScreenDoesNotFindIsNamed(t *testing.T) {
	clitest.NoState(t)
	stored, err := reach.OpenConversations(t.Context(), clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	if _, _, err := (chat.Store{Archive: stored}).Open(t.Context(), "nope"); err == nil || err.Error() != `no conversation has the ID "nope"` {
		t.Errorf("got %v", err)
	}
}

func TestThePagesTellTheExitCodesAsTheHelpDoes(t *testing.T) {
	for page, help := range map[string]string{"host.md": chat.ExitHelp, "cli.md": cli.ExitHelp} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		said := strings.ReplaceAll(string(text), "`", "")
		for line := range strings.Lines(help) {
			code, meaning, found := strings.Cut(strings.TrimSpace(line), " ")
			if !found || !strings.Contains("0 1 2 3 4 5 6 130", code) {
				continue
			}
			if row := "| " + code + " | " + strings.TrimSpace(meaning) + " |"; !strings.Contains(said, row) {
				t.Errorf("docs/%s has no row %s", page, row)
			}
		}
	}
}
