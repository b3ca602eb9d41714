package clitest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// Asking returns an app on a fake terminal where the user types the given text. The buffer collects
// the output on the terminal.
func Asking(t *testing.T, typed string) (*cli.App, *bytes.Buffer) {
	seen := new(bytes.Buffer)
	screen := terminal.NewScreen(seen)
	person := terminal.NewPerson(strings.NewReader(typed), screen)
	return reach.Ready(&cli.App{Place: PlaceOf(t), IO: cli.IO{Screen: screen, Out: screen, Person: person}, Desk: answer.Desk{Screen: screen, Person: person}}), seen
}
