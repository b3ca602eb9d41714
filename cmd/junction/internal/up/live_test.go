package up_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/terminal"
)

// Without a live screen, text is printed as before.
func TestRunWithoutAScreen(t *testing.T) {
	var l *up.LiveUp
	l.Collect()()
	served := false
	if err := l.Run(t.Context(), func(context.Context) error { served = true; return io.EOF }); err != io.EOF || !served {
		t.Errorf("it served: %v, %v", served, err)
	}
	a := &cli.App{IO: cli.IO{Out: terminal.NewScreen(io.Discard), Screen: terminal.NewScreen(io.Discard)}}
	if a.Person = terminal.NewPerson(strings.NewReader(""), a.Screen); a.IsInteractive() {
		t.Error("a screen is shown where there is no terminal")
	}
}
