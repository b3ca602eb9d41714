package clitest

import (
	"bytes"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
)

// SetUp sets up a chat with the given flags and arguments, and returns the messages printed
// meanwhile.
func SetUp(t *testing.T, configuration string, f *chat.Flags, args ...string) (*chat.Setup, string) {
	t.Helper()
	said := new(bytes.Buffer)
	screen := terminal.NewScreen(said)
	a := reach.Ready(&cli.App{Place: PlaceOf(t), IO: cli.IO{Screen: screen, Out: screen}, Desk: answer.Desk{Screen: screen}})
	if configuration != "" {
		a.Launch.Config = []string{configuration}
	}
	f.Unsaved = true
	setup, err := chat.SetUpChat(t.Context(), a, &cobra.Command{}, args, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { setup.Close() })
	return setup, said.String()
}
