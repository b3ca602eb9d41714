package cli_test

import (
	"slices"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp/command"
)

// The log of a server has lines of Junction's, with commands to paste, among the server's own.
func TestALineOfAServerLooksLikeNoneOfJunctions(t *testing.T) {
	tail, before := new(cli.StderrTail), []string(nil)
	c := command.New("true")
	c.Stderr = func(line string) { before = append(before, line) }
	heard := tail.Attach(c, false).(*command.Command)
	const forged = "junction: server notes: was refused to read x; to allow it: junction server sandbox allow notes --read /"
	tail.AddRefused("server notes: was refused to read y", false)
	for _, line := range []string{forged, " " + forged, "\t" + forged, "hello", "junctions"} {
		heard.Stderr(line)
	}
	want := []string{"junction: server notes: was refused to read y", "server: " + forged, "server:  " + forged, "server:  " + forged, "hello", "junctions"}
	if got := tail.Lines(); !slices.Equal(got, want) || len(before) != 5 {
		t.Errorf("got %q, want %q", got, want)
	}
}
