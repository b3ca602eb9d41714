package main

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A server that never answers stands in front of all others: of these, what is there is printed.
func TestASlowServerHoldsBackNoListOfOthers(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	server := map[string]any{"command": argv[0], "args": argv[1:]}
	runs(t, "", "tools", "--config", configuration(t, map[string]any{"known": server})).expect(t, cli.ExitOK, "━━ known", "")
	config := configuration(t, map[string]any{"a-slow": map[string]any{"command": "sleep", "args": []string{"600"}}, "fresh": map[string]any{"command": argv[0], "args": []string{"serve", "time"}}, "known": server})

	read, write := io.Pipe()
	var said clitest.SafeBuffer
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Stdin: strings.NewReader(""), Stdout: write, Stderr: &said, Out: terminal.NewScreen(write), Screen: terminal.NewScreen(&said)}})
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	code := make(chan int, 1)
	go func() {
		defer write.Close()
		code <- runLine(ctx, a, []string{"tools", "--config", config})
	}()
	var shown []string
	for lines := bufio.NewScanner(read); lines.Scan(); {
		if name, is := strings.CutPrefix(lines.Text(), "━━ "); is {
			name, _, _ = strings.Cut(name, " ")
			shown = append(shown, name)
		}
		if len(shown) == 2 {
			interrupt(cli.ErrInterrupted) // as nothing else ends it
		}
	}
	if got := <-code; got != cli.ExitInterrupted || !slices.Equal(shown, []string{"fresh", "known"}) {
		t.Errorf("exit code %d, shown are %q", got, shown)
	}
	// On a busy machine the end takes longer than the pause after which it is announced.
	printed := strings.Replace(said.String(), "junction: stopping; Ctrl-C again kills the processes that still run\n", "", 1)
	if want := "junction: still starting: a-slow\njunction: no answer from a-slow\njunction: interrupted\n"; !strings.HasSuffix(printed, want) {
		t.Errorf("standard error is\n%s", said.String())
	}
}
