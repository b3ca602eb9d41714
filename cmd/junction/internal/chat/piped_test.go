package chat_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A pipe that nobody writes to, as in a job of a CI, holds up the question for a moment only.
func TestSilentPipesAreNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, writer := io.Pipe()
		defer writer.Close()
		var stderr strings.Builder
		a, began := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Stdin: in, Screen: terminal.NewScreen(&stderr)}}), time.Now()
		got, err := chat.PipedInput(t.Context(), a, &chat.Flags{Prompt: "x"})
		if took := time.Since(began); err != nil || got != nil || took != chat.PipeTime || !strings.Contains(stderr.String(), "no input within 5s") {
			t.Errorf("after %s: %v, %v; %s", took, got, err, &stderr)
		}
	})
}

func TestStartedInputIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, writer := io.Pipe()
		go func() {
			_, _ = writer.Write([]byte("one\n"))
			time.Sleep(time.Hour)
			_, _ = writer.Write([]byte("two\n"))
			writer.Close()
		}()
		a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Stdin: in, Screen: terminal.NewScreen(io.Discard)}})
		got, err := chat.PipedInput(t.Context(), a, &chat.Flags{Prompt: "x"})
		if err != nil || len(got) != 1 || got[0].Text != "one\ntwo\n" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestWaitingForAPipeEndsWithTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, writer := io.Pipe()
		defer writer.Close()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("interrupted"))
		defer cancel()
		a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Stdin: in, Screen: terminal.NewScreen(io.Discard)}})
		if _, err := chat.PipedInput(ctx, a, &chat.Flags{Prompt: "x"}); err == nil || err.Error() != "interrupted" {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyPipesAreRead(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, in := range map[string]io.Reader{"the null device": null, "a closed file": closed, "nothing": nil} {
		if chat.IsPiped(in) {
			t.Errorf("%s counts as a pipe", name)
		}
	}
}
