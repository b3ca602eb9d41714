package main

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

func TestServersThatAnswerFollowEachOtherAsTheyAreConfigured(t *testing.T) {
	server := func(name string) *reach.ListedServer { return &reach.ListedServer{Entry: cli.Entry{Name: name}} }
	a, b, c, d := server("a"), server("b"), server("c"), server("d")
	r := &reach.ResultOrder{Open: []*reach.ListedServer{a, b, c, d}}
	for _, step := range []struct {
		name  string
		there *reach.ListedServer // that answers; nil: one takes long
		want  []*reach.ListedServer
	}{
		{"the second one waits for the first", b, nil},
		{"the first one brings it along", a, []*reach.ListedServer{a, b}},
		{"the last one waits, too", d, nil},
		{"until the one before takes long", nil, []*reach.ListedServer{d}},
		{"which comes last", c, []*reach.ListedServer{c}},
	} {
		if step.there == nil {
			r.Late = true
		} else {
			r.There = append(r.There, step.there)
		}
		if got := r.Next(); !slices.Equal(got, step.want) {
			t.Errorf("%s: shown are %v", step.name, got)
		}
	}
}

// A server that never answers stands in front of all others: of these, what is there is printed.
func TestASlowServerHoldsBackNoListOfOthers(t *testing.T) {
	alone(t)
	argv := self(t, "serve", "everything")
	server := map[string]any{"command": argv[0], "args": argv[1:]}
	runs(t, "", "tools", "--config", configuration(t, map[string]any{"known": server})).expect(t, cli.ExitOK, "━━ known", "")
	config := configuration(t, map[string]any{"a-slow": map[string]any{"command": "sleep", "args": []string{"600"}}, "fresh": map[string]any{"command": argv[0], "args": []string{"serve", "time"}}, "known": server})

	read, write := io.Pipe()
	var said safeBuffer
	a := cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Stdin: strings.NewReader(""), Stdout: write, Stderr: &said, Out: terminal.NewScreen(write), Screen: terminal.NewScreen(&said)}})
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
	if want := "junction: still starting: a-slow\njunction: no answer from a-slow\njunction: interrupted\n"; !strings.HasSuffix(said.String(), want) {
		t.Errorf("it says\n%s", said.String())
	}
}
