//go:build unix

package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestStatusIsShownAgainWhenItChanged(t *testing.T) {
	clitest.Alone(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	stdout, code := new(clitest.SafeBuffer), make(chan int, 1)
	lines := make(chan struct{}, 100)
	printed := &watchedBuffer{word: "\n", seen: func() { lines <- struct{}{} }}
	go func() {
		code <- run(ctx, clitest.PlaceOf(t), []string{"status", "--watch", "--json"}, strings.NewReader(""), io.MultiWriter(stdout, printed), io.Discard)
	}()
	<-lines
	r := serving(t, "up", "everything")
	for !strings.Contains(stdout.String(), `"endpoint":"`+r.url) {
		<-lines
	}
	r.stop()
	for !strings.HasSuffix(stdout.String(), `{"instances":[]}`+"\n") || strings.Count(stdout.String(), "\n") < 3 {
		<-lines
	}
	interrupt(cli.ErrInterrupted)
	if got := <-code; got != cli.ExitOK {
		t.Errorf("exit code %d", got)
	}
	if text := stdout.String(); strings.Count(text, `{"instances":[]}`) != 2 {
		t.Errorf("what did not change is shown again: %s", text)
	}
}
