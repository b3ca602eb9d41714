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

// Asking is an app at whose terminal somebody types, and what they see.
func Asking(t *testing.T, typed string) (*cli.App, *bytes.Buffer) {
	seen := new(bytes.Buffer)
	screen := terminal.NewScreen(seen)
	person := terminal.NewPerson(strings.NewReader(typed), screen)
	return reach.Ready(&cli.App{Place: PlaceOf(t), IO: cli.IO{Screen: screen, Out: screen, Person: person}, Desk: answer.Desk{Screen: screen, Person: person}}), seen
}
